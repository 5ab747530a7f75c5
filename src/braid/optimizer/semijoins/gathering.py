"""Plans that join everything at one site: new rows of all streams are sent there, where copies of all others are kept.

Shipping all to one place is what one would do without a search. No search of one head alone finds it: the copies are
too dear for one head, and cheap for all of them together.
"""

from __future__ import annotations

from collections.abc import Iterator

from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import HeadSequence, PlanStep, SemijoinPlan
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.statistics import StreamStatistics
from braid.plan.sites import Algorithm


def gathered_plans(model: CostModel, graph: JoinGraph) -> list[SemijoinPlan]:
    """A plan for the site of each stream, where the algorithms that it needs are allowed."""
    found = []
    for centre in graph.streams:
        sequences = [_sequence(model, graph, head.name, centre) for head in graph.streams]
        complete = tuple(one for one in sequences if one is not None)
        if len(complete) == len(sequences):
            found.append(SemijoinPlan(complete))
    return found


def _sequence(model: CostModel, graph: JoinGraph, head: str, centre: StreamStatistics) -> HeadSequence | None:
    """Go to the site by SP-D, on the shortest way through the join graph; there look up all others by SP-S."""
    steps: list[PlanStep] = []
    path = [] if graph.stream(head).site == centre.site else _path(graph, head, centre.name)
    for name in (*path, *_others(graph, (head, *path))):
        algorithm = Algorithm.SP_D if name in path or graph.stream(name).site == centre.site else Algorithm.SP_S
        if algorithm not in model.allowed(frozenset((head, *(step.stream for step in steps))), name):
            return None
        steps.append(PlanStep(name, algorithm))
    return HeadSequence(head, tuple(steps))


def _path(graph: JoinGraph, head: str, target: str) -> list[str]:
    """The streams after the head on a shortest way to another stream, which is the last of them."""
    paths: dict[str, list[str]] = {head: []}
    while target not in paths:
        for known in list(paths):
            for name in graph.next_streams([known]):
                paths.setdefault(name, [*paths[known], name])
    return paths[target]


def _others(graph: JoinGraph, joined: tuple[str, ...]) -> Iterator[str]:
    """The streams that are not joined yet, in an order that follows the join graph."""
    names = list(joined)
    while following := graph.next_streams(names):
        yield following[0]
        names.append(following[0])
