"""How long a row can still find a partner, from windows and from comparisons of event times.

`bounds[i][j]` is the most by which a row of stream j may be newer than the row of stream i it joins. Windows give
some of them, comparisons of event times others, and chains of both the rest (shortest paths).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product

from braid.errors import WindowError
from braid.optimizer.ranges import ranges_of
from braid.plan.expressions import Column
from braid.plan.join import Bound
from braid.plan.predicate import Conjunct

Bounds = tuple[tuple[int | None, ...], ...]


def derive_bounds(times: Sequence[Column], windows_us: Sequence[int | None], conjuncts: Sequence[Conjunct]) -> Bounds:
    """The tightest bound between every two streams; None where there is none."""
    count = len(times)
    reach = [[0.0 if i == j else math.inf for j in range(count)] for i in range(count)]
    for i, window_us in enumerate(windows_us):
        if window_us is not None:
            for j in range(count):
                reach[i][j] = min(reach[i][j], float(window_us) if i != j else 0.0)
    for position, conjunct in enumerate(conjuncts):
        for j in range(count):
            _tighten(reach, times, conjunct, position, j)
    for k, i, j in product(range(count), repeat=3):
        reach[i][j] = min(reach[i][j], reach[i][k] + reach[k][j])
    return tuple(tuple(None if math.isinf(value) else math.ceil(value) for value in row) for row in reach)


def check_auto_windows(names: Sequence[str], automatic: Sequence[bool], bounds: Bounds) -> None:
    """Refuse `window="auto"` where nothing bounds how much newer a partner may be."""
    for i, j in product(range(len(names)), repeat=2):
        if i != j and automatic[i] and bounds[i][j] is None:
            mine, other = names[i], names[j]
            raise WindowError(
                f'The stream {mine!r} has window="auto", but no predicate bounds how much later than a row of '
                f"{mine!r} a row of {other!r} may be: the state of {mine!r} would be unbounded.",
                hint=f"Add an upper bound on the event time of {other!r}, such as {other}.time <= {mine}.time + "
                f"INTERVAL 10 MINUTES, or give {mine!r} a window.",
            )


def _tighten(reach: list[list[float]], times: Sequence[Column], conjunct: Conjunct, position: int, stream: int) -> None:
    for found in ranges_of(conjunct, position, stream):
        if found.number != times[stream]:
            continue
        for bound in found.bounds:
            other = _time_stream(bound, times)
            if other is None:
                continue
            if bound.side == "upper":
                reach[other][stream] = min(reach[other][stream], bound.offset)
            else:
                reach[stream][other] = min(reach[stream][other], -bound.offset)


def _time_stream(bound: Bound, times: Sequence[Column]) -> int | None:
    """The stream whose event time alone bounds, if that is what the bound is."""
    if bound.minus or len(bound.plus) != 1:
        return None
    only = bound.plus[0]
    return next((number for number, time in enumerate(times) if time == only), None)
