"""What lookups observe, with decay of older steps: matches per probing row, and what evaluating a conjunct costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from braid.plan.join import JoinPlan
from braid.state.manifest import CheckCost, Fanout, Manifest

# Observations of a step lose a tenth with every later step, so join orders follow a change within about ten steps.
DECAY = 0.9

JoinOrders = tuple[tuple[int, ...], ...]
"""For each delta stream, the order in which it looks up the others."""


@dataclass(frozen=True)
class LookupCounts:
    """What a task observed of the lookups of `stream` by rows of `delta_stream`; `seconds` are those of comparing.

    The lookups among rows that earlier steps had admitted are also counted apart: their seconds and compared pairs.
    """

    delta_stream: int
    stream: int
    probes: int
    compared: int
    matched: int
    seconds: float
    earlier_seconds: float
    earlier_compared: int


def fanouts_after(
    plan: JoinPlan, before: Manifest, lookups: Iterable[tuple[JoinOrders, LookupCounts]]
) -> tuple[Fanout, ...]:
    """Earlier observations decay; those of a step's tasks, which followed the given join orders, are added.

    After a change of the tree, observations of intermediate results are dropped: their numbers are those of one tree.
    """
    same = before.layout.tree == plan.tree
    seen = {
        (fanout.delta_stream, fanout.stream, fanout.joined): (
            fanout.probes * DECAY,
            fanout.matches * DECAY,
            fanout.compared * DECAY,
        )
        for fanout in before.fanouts
        if same or fanout.stream < len(plan.streams)
    }
    for join_orders, lookup in lookups:
        joined = _joined_before(plan, join_orders[lookup.delta_stream], lookup)
        key = (lookup.delta_stream, lookup.stream, joined)
        probes, matches, compared = seen.get(key, (0.0, 0.0, 0.0))
        seen[key] = (probes + lookup.probes, matches + lookup.matched, compared + lookup.compared)
    return tuple(Fanout(*key, *counts) for key, counts in sorted(seen.items()))


def check_costs_after(before: Sequence[CheckCost], observed: Iterable[CheckCost]) -> tuple[CheckCost, ...]:
    """Earlier observations of conjuncts decay; those of a step's tasks are added."""
    seen = {cost.conjunct: [DECAY * count for count in _counts(cost)] for cost in before}
    for cost in observed:
        known = seen.get(cost.conjunct, [0.0] * len(_counts(cost)))
        seen[cost.conjunct] = [count + more for count, more in zip(known, _counts(cost), strict=True)]
    return tuple(CheckCost(conjunct, *counts) for conjunct, counts in sorted(seen.items()))


def _counts(cost: CheckCost) -> tuple[float, ...]:
    return cost.pairs, cost.seconds, cost.sampled, cost.passed


def _joined_before(plan: JoinPlan, order: tuple[int, ...], lookup: LookupCounts) -> tuple[int, ...]:
    before = order[: order.index(lookup.stream)]
    return tuple(sorted((lookup.delta_stream, *(member for number in before for member in plan.members(number)))))
