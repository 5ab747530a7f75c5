"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.bistream.queries import EQUAL_VOLUME, TpchQuery
from experiments.experiment import Settings


@dataclass(frozen=True)
class Size:
    """Scales of TPC-H, of which the line items or a stream are a part, and the steps that the rows are cut into.

    `window_share` is the part of the paper's rates at which rows are counted, `window_rows` those of a step of Figure
    6b, which lasts `ripple_step_seconds`, `elastic_rows` those of a stream and step of Figure 12 at first. What is
    timed on Spark has a scale of its own: `timed_batches` as fast as they are taken, or the first `paced_files` of
    `files_in_all` on schedule. `limited_scales` are those of runs with a limit of memory.
    """

    name: str
    scales: dict[str, float]
    summed_scales: dict[str, float]
    steps: int
    window_share: float
    window_rows: int
    ripple_step_seconds: int
    elastic_rows: int
    timed_scales: dict[str, float]
    timed_batches: int
    timed_warm_up: int
    modelled_batches: int
    rounds: int
    files_in_all: int
    paced_files: int
    paced_warm_up: int
    limited_scales: dict[str, float]
    files_per_second: int = 4

    def query(self, name: str) -> TpchQuery:
        """A join of streams of equal volume."""
        return _query(name, self.scales[name], EQUAL_VOLUME[name])

    def limited_query(self, name: str) -> TpchQuery:
        """The same join, of the scale that has a limit of memory."""
        return _query(name, self.limited_scales[name], EQUAL_VOLUME[name])

    def summed_query(self, name: str) -> TpchQuery:
        """A join to add up: Band with all rows of both streams, so that it has results, and with nations."""
        options = {"with_nation": True} if name == "band" else EQUAL_VOLUME[name]
        return _query(name, self.summed_scales[name], options)

    def describe(self) -> str:
        scales = f"Q5 and Q7 of TPC-H scale {self.scales['q5']:g}, Band of scale {self.scales['band']:g}"
        return f"{scales}, with as many line items as make both streams' volume equal"


def papers_rates(settings: Settings) -> str:
    """The rates of what is counted at a part of the paper's, in words."""
    share = settings["size.window_share"]
    return "the paper's rates" if share == 1 else f"{share:g} of the paper's rates"


def _query(name: str, scale: float, options: dict[str, Any]) -> TpchQuery:
    directory = Path(tempfile.gettempdir()) / "braid-tpch"
    return TpchQuery(name, scale, directory, tuple(sorted(options.items())))


SIZES = {
    "quick": Size(
        name="quick",
        scales={"q5": 12, "q7": 12, "band": 0.1},
        summed_scales={"q5": 12, "q7": 12, "band": 0.02},
        steps=4,
        window_share=0.04,
        window_rows=200,
        ripple_step_seconds=24,
        elastic_rows=500,
        timed_scales={"q5": 12, "q7": 12, "band": 0.02},
        timed_batches=3,
        timed_warm_up=1,
        modelled_batches=3,
        rounds=1,
        files_in_all=60,
        paced_files=8,
        paced_warm_up=2,
        limited_scales={"q5": 12, "q7": 12, "band": 0.1},
    ),
    "full": Size(
        name="full",
        scales={"q5": 200, "q7": 200, "band": 1.0},
        summed_scales={"q5": 60, "q7": 60, "band": 0.1},
        steps=4,
        window_share=1.0,
        window_rows=1_500,
        ripple_step_seconds=4,
        elastic_rows=8_000,
        timed_scales={"q5": 60, "q7": 60, "band": 0.3},
        timed_batches=6,
        timed_warm_up=2,
        modelled_batches=6,
        rounds=3,
        files_in_all=120,
        paced_files=20,
        paced_warm_up=8,
        limited_scales={"q5": 600, "q7": 600, "band": 2.0},
    ),
}
