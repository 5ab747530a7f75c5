"""Which plan is cheapest: greedily, stream by stream, or by exhaustive search with pruning.

The cost of a plan is the sum of the costs of its steps: seconds a second in which links are busy and rows are
processed. A step depends on which streams were joined before it and on the site where their result is, and on nothing
else of the steps before. So of all beginnings that join the same streams at the same site only the cheapest is
followed, which is exact. There are at most m 2^(m - 1) of them, and (m - 1)! 6^(m - 1) sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from braid.optimizer.semijoins.costs import OneWayCost, OneWayJoin, one_way_cost
from braid.optimizer.semijoins.framing import NO_FRAMING, Framing
from braid.optimizer.semijoins.intermediate_results import joined
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.network import Network
from braid.optimizer.semijoins.plans import HeadSequence, PlanStep, SemijoinPlan
from braid.optimizer.semijoins.statistics import StreamStatistics
from braid.optimizer.sequences import ROW_SECONDS
from braid.plan.sites import Algorithm

Allowed = Callable[[frozenset[str], str], tuple[Algorithm, ...]]
Price = Callable[[Algorithm, StreamStatistics, StreamStatistics], float]
"""What a step adds to the cost of its sequence: the algorithm, the rows that look up, the stream that is looked up."""


@dataclass(frozen=True)
class CostModel:
    """What steps cost: on the links of `network`, every `interval_seconds`.

    `allowed` says by which algorithms joined streams may look up another. `row_seconds` is the time of looking up a
    row, or of writing it to a copy. `framing` is what messages have beyond their payload. A search asks for the same
    costs many times, so they are kept.
    """

    network: Network
    interval_seconds: float
    row_seconds: float = ROW_SECONDS
    allowed: Allowed = lambda joined, stream: tuple(Algorithm)
    framing: Framing = NO_FRAMING
    _known: dict[tuple[Algorithm, StreamStatistics, StreamStatistics], OneWayCost] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def cost(self, algorithm: Algorithm, source: StreamStatistics, stored: StreamStatistics) -> OneWayCost:
        known = self._known.get((algorithm, source, stored))
        if known is None:
            known = one_way_cost(algorithm, OneWayJoin(source, stored, self.interval_seconds, self.framing))
            self._known[algorithm, source, stored] = known
        return known

    def seconds(self, algorithm: Algorithm, source: StreamStatistics, stored: StreamStatistics) -> float:
        """The seconds a second of one step."""
        cost = self.cost(algorithm, source, stored)
        processing = self.row_seconds * (cost.work.probing_rows + cost.work.written_rows)
        return cost.link_seconds(self.network.between(source.site, stored.site)) + processing


@dataclass(frozen=True)
class _Beginning:
    """The first steps of a sequence: what they cost so far, and their intermediate result."""

    head: str
    steps: tuple[PlanStep, ...]
    seconds: float
    result: StreamStatistics

    @property
    def streams(self) -> frozenset[str]:
        return frozenset((self.head, *(step.stream for step in self.steps)))

    @property
    def preference(self) -> tuple[float, tuple[tuple[str, str], ...]]:
        """Smallest is best. Equal costs are decided by names, so that the same statistics give the same plan."""
        return (self.seconds, tuple((step.stream, step.algorithm.value) for step in self.steps))


def greedy_plan(model: CostModel, graph: JoinGraph) -> SemijoinPlan:
    """The greedy sequence of every head, each for itself."""
    return SemijoinPlan(tuple(greedy_sequence(model, graph, stream, model.seconds) for stream in graph.streams))


def exhaustive_plan(model: CostModel, graph: JoinGraph) -> SemijoinPlan:
    """The cheapest of all plans, by the sum over all heads."""
    return SemijoinPlan(tuple(exhaustive_sequence(model, graph, stream, model.seconds) for stream in graph.streams))


def greedy_sequence(model: CostModel, graph: JoinGraph, head: StreamStatistics, price: Price) -> HeadSequence:
    """Algorithm 10: the cheapest next step, until all streams are joined."""
    reached = _start(head)
    while len(reached.streams) < len(graph.streams):
        reached = min(_extensions(model, graph, reached, price), key=lambda found: found.preference)
    return _sequence(reached)


def exhaustive_sequence(model: CostModel, graph: JoinGraph, head: StreamStatistics, price: Price) -> HeadSequence:
    """The cheapest sequence, level by level: exact if the price of a step depends on nothing but its arguments."""
    level = [_start(head)]
    for _ in graph.streams[1:]:
        best: dict[tuple[frozenset[str], str], _Beginning] = {}
        for found in (extended for beginning in level for extended in _extensions(model, graph, beginning, price)):
            state = (found.streams, found.result.site)
            known = best.get(state)
            if known is None or found.preference < known.preference:
                best[state] = found
        level = list(best.values())
    return _sequence(min(level, key=lambda found: found.preference))


def sequence_seconds(model: CostModel, graph: JoinGraph, sequence: HeadSequence) -> float:
    """The seconds a second that new rows of the head cost."""
    reached = _start(graph.stream(sequence.head))
    for step in sequence.steps:
        reached = _extended(graph, reached, step, model.seconds)
    return reached.seconds


def plan_seconds(model: CostModel, graph: JoinGraph, plan: SemijoinPlan) -> float:
    """Equation 1 of the paper's appendix B: the sum over all heads."""
    return sum(sequence_seconds(model, graph, sequence) for sequence in plan.sequences)


def _extensions(model: CostModel, graph: JoinGraph, reached: _Beginning, price: Price) -> Iterator[_Beginning]:
    for name in graph.next_streams(reached.streams):
        for algorithm in model.allowed(reached.streams, name):
            yield _extended(graph, reached, PlanStep(name, algorithm), price)


def _extended(graph: JoinGraph, reached: _Beginning, step: PlanStep, price: Price) -> _Beginning:
    source, stored = reached.result, graph.stream(step.stream)
    seconds = reached.seconds + price(step.algorithm, source, stored)
    site = source.site if step.algorithm.at_source else stored.site
    return _Beginning(reached.head, (*reached.steps, step), seconds, joined(source, stored, site))


def _start(head: StreamStatistics) -> _Beginning:
    return _Beginning(head.name, (), 0.0, head)


def _sequence(reached: _Beginning) -> HeadSequence:
    return HeadSequence(reached.head, reached.steps)
