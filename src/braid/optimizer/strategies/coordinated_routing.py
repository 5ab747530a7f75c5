"""CoordinatedRouting: every row is stored at a fixed number of units, and a lookup visits a small cover of them.

Segments of event time of every stream are copied to neighbouring units. Before each step the driver chooses, for every
lookup, units that together have all live segments of the next stream, and assigns each segment to one of them. It joins
any number of streams on any predicate. It is a baseline of time slices.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout, Segmenting

FEWEST_COPIES, MOST_COPIES = 2, 9
# With fewer segments of a window at each unit, the rows of a step would be at the same few units.
SEGMENTS_PER_UNIT = 8
# The segments of a stream whose window has no length, if no other stream has one.
UNBOUNDED_SEGMENT_US = 1_000_000


@dataclass(frozen=True)
class CoordinatedRouting:
    """`copies`: the number of units that store each row, from 2 to 9.

    `units`: at least twice as many, by default one per slot of the cluster. A window has eight segments for each unit.
    """

    copies: int
    units: int | None = None

    def __post_init__(self) -> None:
        require_positive("CoordinatedRouting(copies=...)", self.copies)
        if not FEWEST_COPIES <= self.copies <= MOST_COPIES:
            raise StrategyError(
                f"CoordinatedRouting(copies={self.copies}) must be from {FEWEST_COPIES} to {MOST_COPIES}.",
                hint="With one copy of each row, use braid.TimeSliced().",
            )
        if self.units is not None:
            require_positive("CoordinatedRouting(units=...)", self.units)
            if self.units < 2 * self.copies:
                raise StrategyError(
                    f"{self.describe()}: {self.copies} copies need at least {2 * self.copies} units, twice as many.",
                    hint=f"Use units={2 * self.copies} or more, or fewer copies.",
                )

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        units = max(slots, 2 * self.copies) if self.units is None else self.units
        count = SEGMENTS_PER_UNIT * units
        widths = [None if s.window_us is None else max(1, -(-s.window_us // count)) for s in plan.streams]
        shortest = min((width for width in widths if width is not None), default=UNBOUNDED_SEGMENT_US)
        segments = tuple(Segmenting(shortest if width is None else width, copies=self.copies) for width in widths)
        return Layout(epoch=0, kind="coordinated", units=(units,), groups=(1,), segments=segments)

    def describe(self) -> str:
        return f"CoordinatedRouting({self.copies}{'' if self.units is None else f', units={self.units}'})"
