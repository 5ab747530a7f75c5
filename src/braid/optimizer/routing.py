"""The number that a stream's rows are routed by, where ranges of it are stored apart."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.indexes import usable_ranges
from braid.plan.expressions import Column, Expression
from braid.plan.predicate import Conjunct


def routing_number(stream: int, streams: int, time: Column, conjuncts: Sequence[Conjunct]) -> Expression | None:
    """A number that the rows of another stream bound on both sides, else on one side; None without such a number.

    Event time is none: at any moment new rows have nearly the same, and would all be routed to one range.
    """
    sides: dict[tuple[Expression, int], set[str]] = {}
    for other in (number for number in range(streams) if number != stream):
        for found in usable_ranges(stream, frozenset({other}), tuple(conjuncts)):
            if found.number != time:
                sides.setdefault((found.number, other), set()).update(bound.side for bound in found.bounds)
    best = max(sides, key=lambda candidate: len(sides[candidate]), default=None)
    return None if best is None else best[0]
