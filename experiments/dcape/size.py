"""How large the runs of the model are: quick, or as long as the paper's."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The groups, the rows of a stream in a tuple range and in a second, the length of steps, and the seeds."""

    name: str
    groups: int
    range_rows: int
    rows_a_second: float
    step_seconds: int
    seeds: int


SIZES = {
    "quick": Size("quick", groups=60, range_rows=6_000, rows_a_second=6.0, step_seconds=15, seeds=3),
    # Tuples every 30 ms, in 300 partitions and tuple ranges of 30,000: the paper's.
    "full": Size("full", groups=300, range_rows=30_000, rows_a_second=1000 / 30, step_seconds=5, seeds=3),
}
