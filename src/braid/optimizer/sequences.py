"""The cheapest sequence of lookups for a delta stream, where functions make some pairs cost far more than others.

A lookup costs the time of its probing rows and of the pairs that it compares; the rows that it finds are the probing
rows of the next one. Pairs and matches a row are those observed after the same joined streams; else they are expected
of the access path, and the share of pairs that pass is that of the conjuncts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from braid.optimizer.check_orders import CheckEstimate, check_estimates, choose_check_order, pair_estimate
from braid.optimizer.join_orders import MIN_PROBES, Order, build_probe, choose_join_orders
from braid.plan.join import EXPECTED_MATCHES, JoinPlan
from braid.state.manifest import CheckCost, Fanout

# Of a probing row, however few pairs it is compared in, and of a pair before its checks.
ROW_SECONDS, PAIR_SECONDS = 2e-7, 1e-8
# All subsets of the other streams are tried up to this many; more are joined greedily.
MAX_SUBSETS = 6


@dataclass(frozen=True)
class LookupCost:
    """The seconds of a lookup, its matches and the pairs that it compares, all for one probing row."""

    seconds: float
    matches: float
    compared: float


Costs = Callable[[tuple[int, ...], int], LookupCost]
"""The cost of looking up a stream with rows of some joined streams."""


def best_orders(plan: JoinPlan, fanouts: Sequence[Fanout] = (), costs: Sequence[CheckCost] = ()) -> tuple[Order, ...]:
    """For each delta stream the order of the others: by time if there are functions, else by matches alone.

    Without functions the pairs of all lookups cost about the same.
    """
    if any(conjunct.function is not None for conjunct in plan.conjuncts):
        return cheapest_orders(plan, fanouts, costs)
    return choose_join_orders(plan, fanouts)


def cheapest_orders(plan: JoinPlan, fanouts: Sequence[Fanout], costs: Sequence[CheckCost]) -> tuple[Order, ...]:
    """For each delta stream the sequence of the others with the least expected time."""
    streams = range(len(plan.streams))
    return tuple(
        _cheapest([n for n in streams if n != head], head, lookup_costs(plan, head, fanouts, costs)) for head in streams
    )


def lookup_costs(plan: JoinPlan, head: int, fanouts: Sequence[Fanout], costs: Sequence[CheckCost]) -> Costs:
    """What the lookups of a delta stream cost."""
    estimates, check_order = check_estimates(plan, costs), choose_check_order(plan, costs)
    observed = {(f.stream, f.joined): f for f in fanouts if f.delta_stream == head and f.probes >= MIN_PROBES}
    known: dict[tuple[frozenset[int], int], LookupCost] = {}

    def cost(joined: tuple[int, ...], stream: int) -> LookupCost:
        place = (frozenset(joined), stream)
        if place not in known:
            seen = observed.get((stream, tuple(sorted(joined))))
            known[place] = _lookup_cost(plan, joined, stream, seen, estimates, check_order)
        return known[place]

    return cost


def _lookup_cost(
    plan: JoinPlan,
    joined: tuple[int, ...],
    stream: int,
    seen: Fanout | None,
    estimates: Sequence[CheckEstimate],
    check_order: tuple[int, ...],
) -> LookupCost:
    probe = build_probe(plan, joined, stream, (), check_order)
    checks = [*probe.checks, *(number for stage in probe.later for number in stage.conjuncts)]
    pair = pair_estimate(estimates, checks)
    functions = pair_estimate(estimates, [n for n in checks if plan.conjuncts[n].function is not None])
    compared = EXPECTED_MATCHES[probe.access] if seen is None else seen.compared / seen.probes
    # An access path already counts what its comparison excludes.
    matches = compared * functions.passing if seen is None else seen.matches / seen.probes
    return LookupCost(ROW_SECONDS + compared * (PAIR_SECONDS + pair.seconds), matches, compared)


def _cheapest(others: Sequence[int], head: int, cost: Costs) -> Order:
    if len(others) >= MAX_SUBSETS:
        return _greedy(others, head, cost)
    best: dict[frozenset[int], tuple[float, float, Order]] = {frozenset(): (0.0, 1.0, ())}
    for size in range(1, len(others) + 1):
        for chosen in map(frozenset, combinations(others, size)):
            best[chosen] = min(_extended(best[chosen - {last}], head, last, cost) for last in sorted(chosen))
    return best[frozenset(others)][2]


def _extended(before: tuple[float, float, Order], head: int, last: int, cost: Costs) -> tuple[float, float, Order]:
    """The seconds and rows of a sequence with one lookup more."""
    seconds, rows, order = before
    found = cost((head, *order), last)
    return seconds + rows * found.seconds, rows * found.matches, (*order, last)


def _greedy(others: Sequence[int], head: int, cost: Costs) -> Order:
    """At each position the lookup whose additional rows are fewest for its time."""
    order: Order = ()
    remaining = list(others)

    def rank(stream: int) -> float:
        found = cost((head, *order), stream)
        return (found.matches - 1.0) / found.seconds

    while remaining:
        best = min(remaining, key=rank)
        order = (*order, best)
        remaining.remove(best)
    return order
