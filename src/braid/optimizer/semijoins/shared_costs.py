"""What a plan ships as it is run: a copy that several lookups use is sent once, not once for each of them.

The paper's sum over all heads counts what keeps a copy up to date for every lookup that uses it. Here lookups of one
stream from one site, its *place*, are counted together: they share copies, and those of other places do not. What is
sent from a stored stream to a copy is the copy's, and all else is the lookup's. Of lookups that request rows, each of
which may be the first to request one, the copy's traffic is taken as the largest of theirs: it is at least that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from braid.optimizer.semijoins.costs import Traffic
from braid.optimizer.semijoins.intermediate_results import joined
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import HeadSequence, SemijoinPlan
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.statistics import StreamStatistics
from braid.plan.sites import Algorithm

Place = tuple[str, str]
"""The name of a stored stream, and the site of the rows that look it up."""
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
class Lookup:
    """A step of a sequence: the rows that look up a stream, and the algorithm."""

    probing: StreamStatistics
    stored: StreamStatistics
    algorithm: Algorithm

    @property
    def place(self) -> Place:
        return self.stored.name, self.probing.site

    @property
    def attributes(self) -> frozenset[str]:
        """By which it looks up: a copy of values is of one such set."""
        own = {one.name for one in self.probing.attributes}
        return frozenset(own & {one.name for one in self.stored.attributes})


def lookups_of(graph: JoinGraph, sequence: HeadSequence) -> Iterator[Lookup]:
    """The lookups of a sequence, in its order."""
    source = graph.stream(sequence.head)
    for step in sequence.steps:
        stored = graph.stream(step.stream)
        yield Lookup(source, stored, step.algorithm)
        source = joined(source, stored, source.site if step.algorithm.at_source else stored.site)


def by_place(lookups: Iterable[Lookup]) -> dict[Place, list[Lookup]]:
    """Lookups that can share copies, together."""
    found: dict[Place, list[Lookup]] = {}
    for one in lookups:
        found.setdefault(one.place, []).append(one)
    return found


def place_seconds(model: CostModel, there: Sequence[Lookup]) -> float:
    """The seconds a second that links and sites are busy with the lookups of one place."""
    if there and there[0].probing.site == there[0].stored.site:
        return sum(model.seconds(Algorithm.SP_D, one.probing, one.stored) for one in there)
    seconds = 0.0
    for one in place_shipments(model, there):
        link = model.network.between(one.source, one.target)
        if link is not None:
            seconds += link.seconds(_sent(one.traffic), one.traffic.messages_per_second)
        seconds += model.row_seconds * one.rows
    return seconds


def place_shipments(model: CostModel, there: Sequence[Lookup]) -> list[Shipment]:
    """What the lookups of one place send between two sites, what belongs to a copy once."""
    copies: dict[frozenset[str] | None, Shipment] = {}
    found = []
    for one in there:
        algorithm = _shared_algorithm(one, there)
        cost = model.cost(algorithm, one.probing, one.stored)
        near, far = one.probing.site, one.stored.site
        found.append(Shipment(near, far, cost.forward, cost.work.probing_rows))
        back = Shipment(far, near, cost.backward, cost.work.written_rows)
        if algorithm not in COPYING:
            found.append(back)
            continue
        kind = None if algorithm is Algorithm.SP_S else one.attributes
        copies[kind] = max(copies.get(kind, back), back, key=lambda each: _sent(each.traffic))
    return [*found, *copies.values()]


def shipments(model: CostModel, graph: JoinGraph, plan: SemijoinPlan) -> list[Shipment]:
    """All that a plan sends between sites."""
    places = by_place(_lookups(graph, plan)).values()
    between = (there for there in places if there[0].probing.site != there[0].stored.site)
    return [one for there in between for one in place_shipments(model, there)]


def shared_plan_seconds(model: CostModel, graph: JoinGraph, plan: SemijoinPlan) -> float:
    """The seconds a second that links and sites are busy with a plan, with each copy kept once."""
    return sum(place_seconds(model, there) for there in by_place(_lookups(graph, plan)).values())


def _sent(traffic: Traffic) -> float:
    return traffic.bytes_per_second + traffic.framing_per_second


def _lookups(graph: JoinGraph, plan: SemijoinPlan) -> Iterator[Lookup]:
    return (one for sequence in plan.sequences for one in lookups_of(graph, sequence))


def _shared_algorithm(one: Lookup, there: Sequence[Lookup]) -> Algorithm:
    """As `copies.with_shared_copies` has it: the algorithm that uses a copy which another lookup needs anyway."""
    if one.algorithm not in REQUESTING:
        return one.algorithm
    requesting = {other.attributes for other in there if other.algorithm in REQUESTING}
    if len(requesting) > 1 or any(other.algorithm is Algorithm.SP_S for other in there):
        return Algorithm.SP_S
    with_values = (Algorithm.SM_S2, Algorithm.SM_D1)
    has_values = any(other.algorithm in with_values and other.attributes in requesting for other in there)
    return Algorithm.SM_S2 if has_values else one.algorithm
