"""TimeSliced: the rows of every stream are stored by slices of event time, in turn at the units of a ring.

No row is stored twice, whatever the predicate and the number of streams. A new row, and every intermediate result,
visits each unit of the next stream's ring once. The windows of the streams, and so their slices, may differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Slicing

Slices = Literal["auto"] | int | Mapping[str, int]

# With fewer slices of a window at each unit, the rows of a step would be at one unit.
SLICES_PER_UNIT = 8
# The slices of a stream whose window has no length, if no other stream has one.
UNBOUNDED_SLICE_US = 1_000_000


@dataclass(frozen=True)
class TimeSliced:
    """`units`: the number of units, by default one per slot of the cluster.

    `slices`: into how many slices the window of a stream is cut: a number, one for each stream by its name, or
    `"auto"`: eight for each unit. A stream with fewer slices than units has a shorter ring. A stream whose window
    counts rows, or has no end, has slices as long as the shortest of the others.
    """

    units: int | None = None
    slices: Slices = "auto"

    def __post_init__(self) -> None:
        if self.units is not None:
            require_positive("TimeSliced(units=...)", self.units)
        if isinstance(self.slices, Mapping):
            for name, count in self.slices.items():
                require_positive(f"TimeSliced(slices={{{name!r}: ...}})", count)
        elif self.slices != "auto":
            require_positive("TimeSliced(slices=...)", self.slices)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        units = slots if self.units is None else self.units
        counts = self._counts(plan, units)
        widths = [
            None if stream.window_us is None else max(1, -(-stream.window_us // count))
            for stream, count in zip(plan.streams, counts, strict=True)
        ]
        shortest = min((width for width in widths if width is not None), default=UNBOUNDED_SLICE_US)
        slices, first = [], 0
        for width, count in zip(widths, counts, strict=True):
            ring = min(units, count)
            slices.append(Slicing(shortest if width is None else width, ring, first % units))
            first += ring  # shorter rings are at different units
        return Layout(epoch=0, kind="time_sliced", units=(units,), groups=(1,), slices=tuple(slices))

    def describe(self) -> str:
        given = (("units", self.units), ("slices", None if self.slices == "auto" else self.slices))
        return f"TimeSliced({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    def _counts(self, plan: JoinPlan, units: int) -> list[int]:
        """The slices of each stream's window."""
        names = [stream.name for stream in plan.streams]
        if not isinstance(self.slices, Mapping):
            return [SLICES_PER_UNIT * units if self.slices == "auto" else int(self.slices)] * len(names)
        unknown = sorted(set(self.slices) - set(names))
        if unknown:
            raise StrategyError(
                f"{self.describe()}: the join has no stream named {unknown[0]!r}, only {', '.join(names)}.",
                hint="Name the streams as in braid.stream(..., name=...).",
            )
        return [self.slices.get(name, SLICES_PER_UNIT * units) for name in names]
