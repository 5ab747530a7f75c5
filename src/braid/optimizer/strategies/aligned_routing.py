"""AlignedRouting: segments of a master stream at one unit each, and copies of all rows that may join them.

Each unit joins its rows without the others, on any predicate: a result has one row of the master stream, and all its
rows are at the unit of that row. The price are the copies: a row is stored at every unit where it may meet a row of the
master stream. It is a baseline of time slices.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.durations import duration_us
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Segmenting


@dataclass(frozen=True)
class AlignedRouting:
    """`segment`: the length of a segment of the master stream, in event time.

    The shorter it is compared with the windows, the more copies there are. `units`: by default one per slot of the
    cluster. `master`: the name of the stream that is not copied, by default the first. Rates are not known when a query
    starts, so name the stream with the most rows in its window.
    """

    segment: str | timedelta
    units: int | None = None
    master: str | None = None

    def __post_init__(self) -> None:
        if self._segment_us() < 1:
            raise StrategyError(
                f"AlignedRouting(segment=...) must be longer than zero, not {self.segment!r}.",
                hint="Use about the longest window, or several times as much.",
            )
        if self.units is not None:
            require_positive("AlignedRouting(units=...)", self.units)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        master, width = self._master(plan), self._segment_us()
        segments = tuple(
            Segmenting(width)
            if stream.number == master
            else Segmenting(
                width,
                before_us=_at_least_zero(plan.retention_us[master][stream.number]),
                after_us=_at_least_zero(plan.retention_us[stream.number][master]),
            )
            for stream in plan.streams
        )
        units = slots if self.units is None else self.units
        return Layout(epoch=0, kind="aligned", units=(units,), groups=(1,), segments=segments)

    def describe(self) -> str:
        given = (("units", self.units), ("master", self.master))
        others = "".join(f", {name}={value!r}" for name, value in given if value is not None)
        return f"AlignedRouting({self.segment!r}{others})"

    def _master(self, plan: JoinPlan) -> int:
        names = [stream.name for stream in plan.streams]
        if self.master is not None and self.master not in names:
            raise StrategyError(
                f"{self.describe()}: the join has no stream named {self.master!r}, only {', '.join(names)}.",
                hint="Name a stream as in braid.stream(name, ...).",
            )
        return 0 if self.master is None else names.index(self.master)

    def _segment_us(self) -> int:
        return duration_us("AlignedRouting(segment=...)", self.segment)


def _at_least_zero(bound_us: int | None) -> int | None:
    """A bound on how much newer a partner may be; one that asks for older ones still includes the same time."""
    return None if bound_us is None else max(0, bound_us)
