"""The plan of an aggregation or of a distinct selection.

An aggregation groups results and keeps totals; a distinct selection emits each distinct row once. Both refer to the
join's outputs by position: first the group columns, then the arguments of the calls, and last, where it is needed, the
result time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

Function = Literal["count", "sum", "avg", "min", "max", "count_distinct"]
Updates = Literal["batched", "immediate"]
"""`batched`: a task sends the partial totals of its results of a step; `immediate`: it sends every result's change."""


@dataclass(frozen=True)
class Call:
    """An aggregate function of some outputs; `count` without arguments counts results."""

    function: Function
    arguments: tuple[int, ...]


@dataclass(frozen=True)
class Aggregation:
    """Groups of the first `groups` outputs, with a total for each call.

    `over_us` None: over all results so far; else over those whose result time is within that of the newest. Without
    calls it is a distinct selection: each row is emitted once. `time_of` says whose time the last output is: "result",
    or the number of a stream; None: there is no time. `bounded_by` says whose time, among the selected columns, bounds
    how long a distinct row may repeat; None: unbounded. `schema` has the emitted columns of a group. Where results are
    `ordered`, a group is emitted for every time at which its values changed.
    """

    groups: int
    calls: tuple[Call, ...]
    over_us: int | None
    updates: Updates
    time_of: int | Literal["result"] | None
    ansi: bool
    schema: pa.Schema
    bounded_by: int | Literal["result"] | None = None
    ordered: bool = False

    @property
    def is_distinct(self) -> bool:
        return not self.calls

    @property
    def is_whole(self) -> bool:
        """Whether all results are one group, which has values even without results."""
        return self.groups == 0 and not self.is_distinct

    @property
    def slides(self) -> bool:
        return self.over_us is not None

    @property
    def sets(self) -> tuple[int, ...]:
        """The calls on distinct values: each keeps a table of the values it has seen."""
        return tuple(number for number, call in enumerate(self.calls) if call.function == "count_distinct")
