"""What probing rows may join, by ranges: which stored numbers each row reaches, and the reach of whole segments.

A slot reads a segment of probing rows only if its reach meets a range that the slot stores.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.kernels.limits import Limits, limits_of
from braid.kernels.rows import Positions, Rows
from braid.optimizer.join_orders import build_probe
from braid.placement.ranges import Span
from braid.plan.join import Bound, JoinPlan
from braid.state.blocks import Reach

Reaches = tuple[Reach, ...]
Starts = npt.NDArray[np.int64] | Sequence[int]


@dataclass(frozen=True)
class RowReach:
    """The numbers of a stream that each row reaches; see `Reach`."""

    stream: int
    limits: Limits
    headroom: npt.NDArray[np.float64]

    def touching(self, span: Span, largest: float) -> npt.NDArray[np.bool_]:
        """Which rows may join stored rows of a span, whose largest number has this magnitude."""
        # Comparisons with NaN are false: no limit excludes nothing.
        outside = (self.limits.upper < span.low) | (self.limits.lower >= span.high)
        return ~outside | (self.headroom < largest)


def reach_of(bounds: Sequence[Bound], stream: int, rows: Rows) -> RowReach:
    """What each row reaches of a stream by bounds on its routing number."""
    return RowReach(stream, *limits_of(bounds, rows))


def first_reaches(plan: JoinPlan, stream: int, rows: Rows) -> list[RowReach]:
    """What new rows of a stream reach of the others at their first lookup, wherever something bounds it.

    An intermediate result is stored where its first stream is, so the reach of that stream applies to it.
    """
    if stream >= len(plan.streams):
        return []  # intermediate results never probe
    others = (other.number for other in plan.streams if other.number != stream)
    bounded = ((other, build_probe(plan, (stream,), other).routing) for other in others)
    return [reach_of(bounds, other, rows) for other, bounds in bounded if bounds]


def segment_reaches(rows: Sequence[RowReach], positions: Positions | None, starts: Starts) -> Iterator[Reaches]:
    """The reach of each segment: row `positions[i]` is the i-th, and segments begin at `starts`."""
    edges = np.asarray(starts, np.int64)
    columns = []
    for reach in rows:
        arrays = (reach.limits.lower, reach.limits.upper, reach.headroom)
        lower, upper, headroom = arrays if positions is None else (array[positions] for array in arrays)
        # The smallest and largest of values with NaN are NaN: one row without a limit makes a segment without one.
        columns.append(
            (
                reach.stream,
                np.minimum.reduceat(lower, edges),
                np.maximum.reduceat(upper, edges),
                np.minimum.reduceat(headroom, edges),
            )
        )
    for number in range(len(edges)):
        yield tuple(
            Reach(s, float(low[number]), float(up[number]), float(room[number])) for s, low, up, room in columns
        )
