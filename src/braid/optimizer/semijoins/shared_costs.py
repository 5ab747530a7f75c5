"""What a plan ships as it is run: a copy that several lookups use is sent once, not once for each of them.

The paper's sum over all heads counts what keeps a copy up to date for every lookup that uses it; the searches follow
it, because only then sequences of different heads are independent. What is sent from a stored stream to a copy is the
copy's, and all else is the lookup's. Of lookups that request rows, each of which may be the first to request one, the
copy's traffic is taken as the largest of theirs: it is at least that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from braid.optimizer.semijoins.costs import Traffic
from braid.optimizer.semijoins.intermediate_results import joined
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import SemijoinPlan
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.statistics import StreamStatistics
from braid.plan.sites import Algorithm

COPYING = (Algorithm.SP_S, Algorithm.SM_S1, Algorithm.SM_S2, Algorithm.SM_D1)
REQUESTING = (Algorithm.SM_S1, Algorithm.SM_S2)


@dataclass(frozen=True)
class Shipment:
    """What is sent from one site to another, and the rows a second that are processed for it."""

    source: str
    target: str
    traffic: Traffic
    rows: float


@dataclass(frozen=True)
class _Lookup:
    """A step of a sequence: the rows that look up a stream, and the algorithm."""

    probing: StreamStatistics
    stored: StreamStatistics
    algorithm: Algorithm

    @property
    def place(self) -> tuple[str, str]:
        return self.stored.name, self.probing.site

    @property
    def attributes(self) -> frozenset[str]:
        """By which it looks up: a copy of values is of one such set."""
        own = {one.name for one in self.probing.attributes}
        return frozenset(own & {one.name for one in self.stored.attributes})


def shipments(model: CostModel, graph: JoinGraph, plan: SemijoinPlan) -> list[Shipment]:
    """All that a plan sends between sites, what belongs to a copy once."""
    lookups = [one for one in _lookups(graph, plan) if one.probing.site != one.stored.site]
    copies: dict[tuple[str, str, object], Shipment] = {}
    found = []
    for one in lookups:
        algorithm = _shared_algorithm(one, [other for other in lookups if other.place == one.place])
        cost = model.cost(algorithm, one.probing, one.stored)
        here, there = one.probing.site, one.stored.site
        found.append(Shipment(here, there, cost.forward, cost.work.probing_rows))
        back = Shipment(there, here, cost.backward, cost.work.written_rows)
        if algorithm not in COPYING:
            found.append(back)
            continue
        kind = (*one.place, None if algorithm is Algorithm.SP_S else one.attributes)
        copies[kind] = max(copies.get(kind, back), back, key=lambda each: _sent(each.traffic))
    return [*found, *copies.values()]


def shared_plan_seconds(model: CostModel, graph: JoinGraph, plan: SemijoinPlan) -> float:
    """The seconds a second that links and sites are busy with a plan, with each copy kept once."""
    within = [one for one in _lookups(graph, plan) if one.probing.site == one.stored.site]
    seconds = sum(model.seconds(Algorithm.SP_D, one.probing, one.stored) for one in within)
    for one in shipments(model, graph, plan):
        link = model.network.between(one.source, one.target)
        if link is not None:
            seconds += link.seconds(_sent(one.traffic), one.traffic.messages_per_second)
        seconds += model.row_seconds * one.rows
    return seconds


def _sent(traffic: Traffic) -> float:
    return traffic.bytes_per_second + traffic.framing_per_second


def _lookups(graph: JoinGraph, plan: SemijoinPlan) -> Iterator[_Lookup]:
    for sequence in plan.sequences:
        source = graph.stream(sequence.head)
        for step in sequence.steps:
            stored = graph.stream(step.stream)
            yield _Lookup(source, stored, step.algorithm)
            source = joined(source, stored, source.site if step.algorithm.at_source else stored.site)


def _shared_algorithm(one: _Lookup, there: Sequence[_Lookup]) -> Algorithm:
    """As `copies.with_shared_copies` has it: the algorithm that uses a copy which another lookup needs anyway."""
    if one.algorithm not in REQUESTING:
        return one.algorithm
    requesting = {other.attributes for other in there if other.algorithm in REQUESTING}
    if len(requesting) > 1 or any(other.algorithm is Algorithm.SP_S for other in there):
        return Algorithm.SP_S
    with_values = (Algorithm.SM_S2, Algorithm.SM_D1)
    has_values = any(other.algorithm in with_values and other.attributes in requesting for other in there)
    return Algorithm.SM_S2 if has_values else one.algorithm
