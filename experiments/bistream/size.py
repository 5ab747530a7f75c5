"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from experiments.bistream.queries import TpchQuery


@dataclass(frozen=True)
class Size:
    """A scale of TPC-H, the batches it is cut into, and the rows that fit a unit where that is assumed.

    What is timed on Spark has a scale of its own: `timed_batches` as fast as they are taken, or the first `paced_files`
    of `files_in_all` on schedule. `summed_scale` is that of aggregations.
    """

    name: str
    scale_factor: float
    batches: int
    unit_rows: int
    timed_scale: float
    summed_scale: float
    timed_batches: int
    timed_warm_up: int
    rounds: int
    files_in_all: int
    paced_files: int
    paced_warm_up: int
    paced_rounds: int
    files_per_second: int = 4

    def query(self, name: str, window_seconds: float | None = None) -> TpchQuery:
        directory = Path(tempfile.gettempdir()) / "braid-tpch"
        return TpchQuery(name, self.scale_factor, self.batches, directory, window_seconds)

    def describe(self) -> str:
        return f"TPC-H scale {self.scale_factor:g} in {self.batches} batches"


SIZES = {
    "quick": Size(
        name="quick",
        scale_factor=0.01,
        batches=12,
        unit_rows=5_000,
        timed_scale=0.01,
        summed_scale=0.01,
        timed_batches=3,
        timed_warm_up=1,
        rounds=1,
        files_in_all=60,
        paced_files=8,
        paced_warm_up=2,
        paced_rounds=1,
    ),
    "full": Size(
        name="full",
        scale_factor=0.1,
        batches=40,
        unit_rows=100_000,
        timed_scale=0.5,
        summed_scale=1.0,
        timed_batches=10,
        timed_warm_up=3,
        rounds=3,
        files_in_all=120,
        paced_files=32,
        paced_warm_up=12,
        paced_rounds=2,
    ),
}
