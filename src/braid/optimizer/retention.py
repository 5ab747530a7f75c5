"""How long a row can still find a partner, from windows and from comparisons of event times.

`bounds[i][j]` is the largest amount by which a row of stream j may be newer than the row of stream i it joins. Windows
give some bounds, comparisons of event times others, and chains of both the rest (shortest paths).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from braid.errors import WindowError
from braid.optimizer.ranges import ranges_of
from braid.plan.expressions import Column
from braid.plan.instants import LATEST_US
from braid.plan.join import Bound
from braid.plan.predicate import Conjunct

Bounds = tuple[tuple[int | None, ...], ...]
Reach = list[list[int | float]]
"""Microseconds as exact integers; infinity means no bound."""
EXACT_DOUBLES = 2**53


def derive_bounds(times: Sequence[Column], windows_us: Sequence[int | None], conjuncts: Sequence[Conjunct]) -> Bounds:
    """The tightest bound between every two streams; None where there is none."""
    count = len(times)
    reach: Reach = [[0 if i == j else math.inf for j in range(count)] for i in range(count)]
    for i, window_us in enumerate(windows_us):
        if window_us is not None:
            for j in range(count):
                reach[i][j] = min(reach[i][j], window_us if i != j else 0)
    for position, conjunct in enumerate(conjuncts):
        for j in range(count):
            _tighten(reach, times, conjunct, position, j)
    for k, i, j in product(range(count), repeat=3):
        reach[i][j] = min(reach[i][j], reach[i][k] + reach[k][j])
    return tuple(tuple(_bounded(value) for value in row) for row in reach)


def check_auto_windows(names: Sequence[str], automatic: Sequence[bool], bounds: Bounds) -> None:
    """Refuse `window="auto"` where nothing bounds how much newer a partner may be."""
    for i, j in product(range(len(names)), repeat=2):
        if i != j and automatic[i] and bounds[i][j] is None:
            mine, other = names[i], names[j]
            raise WindowError(
                f'The stream {mine!r} has window="auto", but no predicate bounds how much later than a row of '
                f"{mine!r} a row of {other!r} may be: the state of {mine!r} would be unbounded.",
                detail="Understood are comparisons of event times, plus or minus constant intervals; of their "
                "difference, its abs(...), timestampdiff and datediff with a constant; and of unix_micros, "
                "unix_millis and unix_seconds, in ANSI mode.",
                hint=f"Add an upper bound on the event time of {other!r}, such as {other}.time <= {mine}.time + "
                f"INTERVAL 10 MINUTES, or give {mine!r} a window.",
            )


def _tighten(reach: Reach, times: Sequence[Column], conjunct: Conjunct, position: int, stream: int) -> None:
    for found in ranges_of(conjunct, position, stream):
        if found.number != times[stream]:
            continue
        for bound in found.bounds:
            other = _time_stream(bound, times)
            if other is None:
                continue
            if bound.side == "upper":
                reach[other][stream] = min(reach[other][stream], _whole(bound.offset))
            else:
                reach[stream][other] = min(reach[stream][other], _whole(-bound.offset))


def _time_stream(bound: Bound, times: Sequence[Column]) -> int | None:
    """The stream whose event time is the only term of the bound; None for other bounds."""
    if bound.minus or len(bound.plus) != 1:
        return None
    only = bound.plus[0]
    return next((number for number, time in enumerate(times) if time == only), None)


def _whole(offset_us: float) -> int:
    """The offset rounded up to microseconds; where doubles are not exact, the next larger double."""
    return math.ceil(offset_us if abs(offset_us) <= EXACT_DOUBLES else math.nextafter(offset_us, math.inf))


def _bounded(reach: int | float) -> int | None:
    """A bound that fits 64 bits; a larger one has no effect and is None."""
    return int(reach) if reach <= LATEST_US else None
