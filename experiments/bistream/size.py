"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from experiments.bistream.queries import TpchQuery


@dataclass(frozen=True)
class Size:
    """A scale of TPC-H, the batches it is cut into, and the rows that fit a unit where that is assumed."""

    name: str
    scale_factor: float
    batches: int
    unit_rows: int

    def query(self, name: str, window_seconds: float | None = None) -> TpchQuery:
        directory = Path(tempfile.gettempdir()) / "braid-tpch"
        return TpchQuery(name, self.scale_factor, self.batches, directory, window_seconds)

    def describe(self) -> str:
        return f"TPC-H scale {self.scale_factor:g} in {self.batches} batches"


SIZES = {
    "quick": Size("quick", 0.01, 12, 5_000),
    "full": Size("full", 0.1, 40, 100_000),
}
