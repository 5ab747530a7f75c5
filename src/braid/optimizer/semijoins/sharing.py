"""Plans in which heads share copies: what keeps a copy up to date is paid once, whichever heads use it.

The sequence of one head is searched again with those of the others as they are. A step then costs what it adds to the
lookups of the same place. A sequence looks up every stream once, so none of its steps share a place, and both searches
work as they do for a head alone. This is repeated until no head changes; every change makes the plan cheaper, so it
ends. What heads would save only by changing together is not found that way. So the search begins several times, with
other ideas of which share of its copies a head pays, and with plans that join all at one site. The cheapest plan is
taken.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from braid.optimizer.semijoins.costs import Traffic
from braid.optimizer.semijoins.gathering import gathered_plans
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import HeadSequence, SemijoinPlan
from braid.optimizer.semijoins.search import CostModel, Price, exhaustive_sequence, greedy_sequence
from braid.optimizer.semijoins.shared_costs import (
    COPYING,
    Lookup,
    Place,
    by_place,
    lookups_of,
    place_seconds,
    shared_plan_seconds,
)
from braid.optimizer.semijoins.statistics import StreamStatistics
from braid.plan.sites import Algorithm

SearchSequence = Callable[[CostModel, JoinGraph, StreamStatistics, Price], HeadSequence]
"""How the sequence of one head is searched: `greedy_sequence` or `exhaustive_sequence`."""
Share = Callable[[str], float]
"""The share of a copy's cost that a head pays, by the site of the copy."""
# A plan that is cheaper by less is the same plan, computed in another order.
SAME = 1e-9
# Improving a beginning takes longer than all else. Of four streams with random statistics, improving all of them saves
# one part in a hundred on average, in two and a half times the time.
IMPROVED = 3


def greedy_shared_plan(model: CostModel, graph: JoinGraph) -> SemijoinPlan:
    """The cheapest plan that greedy searches find if every copy is counted once."""
    return _cheapest(model, graph, greedy_sequence, _beginnings(model, graph, greedy_sequence))


def exhaustive_shared_plan(model: CostModel, graph: JoinGraph) -> SemijoinPlan:
    """The same with exhaustive searches of single heads; it begins with the greedy plan too, so it is never dearer."""
    beginnings = [*_beginnings(model, graph, exhaustive_sequence), greedy_shared_plan(model, graph)]
    return _cheapest(model, graph, exhaustive_sequence, beginnings)


def _cheapest(
    model: CostModel, graph: JoinGraph, search: SearchSequence, beginnings: Sequence[SemijoinPlan]
) -> SemijoinPlan:
    """The best plan that the most promising beginnings lead to."""
    promising = sorted(dict.fromkeys(beginnings), key=lambda plan: shared_plan_seconds(model, graph, plan))[:IMPROVED]
    improved = (_improved(model, graph, beginning, search) for beginning in promising)
    return min(improved, key=lambda plan: shared_plan_seconds(model, graph, plan))


def _beginnings(model: CostModel, graph: JoinGraph, search: SearchSequence) -> list[SemijoinPlan]:
    """Plans that join all at one site; and of heads that do not know of each other, with other ideas of costs.

    A head pays for its copies alone; or one share of them; or nothing for those at one site, which all others pay for.
    """
    shares: list[Share] = [lambda site: 1.0, lambda site: 1 / (len(graph.streams) - 1)]
    shares += [partial(_share_at, free) for free in sorted({stream.site for stream in graph.streams})]
    prices = [_price_of_shares(model, share) for share in shares]
    plans = [SemijoinPlan(tuple(search(model, graph, head, price) for head in graph.streams)) for price in prices]
    return [*plans, *gathered_plans(model, graph)]


def _share_at(free: str, site: str) -> float:
    return 0.0 if site == free else 1.0


def _improved(model: CostModel, graph: JoinGraph, plan: SemijoinPlan, search: SearchSequence) -> SemijoinPlan:
    """The plan, with one head after the other searched again until none changes."""
    seconds, unchanged, number = shared_plan_seconds(model, graph, plan), 0, 0
    while unchanged < len(plan.sequences):
        head = graph.stream(plan.sequences[number].head)
        sequence = search(model, graph, head, _price_beside(model, graph, plan, number))
        changed = SemijoinPlan((*plan.sequences[:number], sequence, *plan.sequences[number + 1 :]))
        cheaper = shared_plan_seconds(model, graph, changed)
        if cheaper < seconds * (1 - SAME):
            plan, seconds, unchanged = changed, cheaper, 0
        unchanged, number = unchanged + 1, (number + 1) % len(plan.sequences)
    return plan


def _price_beside(model: CostModel, graph: JoinGraph, plan: SemijoinPlan, number: int) -> Price:
    """What a step of one sequence adds to the lookups of all others."""
    others = (one for place, one in enumerate(plan.sequences) if place != number)
    lookups = by_place(one for sequence in others for one in lookups_of(graph, sequence))
    without: dict[Place, float] = {place: place_seconds(model, there) for place, there in lookups.items()}

    def price(algorithm: Algorithm, source: StreamStatistics, stored: StreamStatistics) -> float:
        step = Lookup(source, stored, algorithm)
        there = lookups.get(step.place, [])
        return place_seconds(model, [*there, step]) - without.get(step.place, 0.0)

    return price


def _price_of_shares(model: CostModel, share: Share) -> Price:
    """What a step costs that pays a share of what keeps its copy up to date."""

    def price(algorithm: Algorithm, source: StreamStatistics, stored: StreamStatistics) -> float:
        whole = model.seconds(algorithm, source, stored)
        if algorithm not in COPYING:
            return whole
        cost = model.cost(algorithm, source, stored)
        own = replace(cost, backward=Traffic(), work=replace(cost.work, written_rows=0.0))
        link = model.network.between(source.site, stored.site)
        alone = own.link_seconds(link) + model.row_seconds * own.work.probing_rows
        return alone + (whole - alone) * share(source.site)

    return price
