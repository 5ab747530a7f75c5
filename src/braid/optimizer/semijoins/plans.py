"""Plans of a join between sites: for each head stream a sequence of (stream, algorithm), along the join graph.

A plan is valid for a graph if every stream heads one sequence, every sequence joins all other streams once, and each
step joins a stream that has a join condition with one joined before it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.plan.sites import Algorithm

STEP_PARTS = 2


@dataclass(frozen=True)
class PlanStep:
    """The intermediate result so far is joined with `stream` by `algorithm`."""

    stream: str
    algorithm: Algorithm


@dataclass(frozen=True)
class HeadSequence:
    """The steps that new rows of stream `head` go through."""

    head: str
    steps: tuple[PlanStep, ...]


@dataclass(frozen=True)
class SemijoinPlan:
    """One sequence for each stream."""

    sequences: tuple[HeadSequence, ...]


def plan_of(graph: JoinGraph, plans: Mapping[str, Sequence[tuple[str, str]]]) -> SemijoinPlan:
    """A plan as the user writes it, `{head: [(stream, algorithm), …]}`; refused if it does not fit the graph."""
    names = [stream.name for stream in graph.streams]
    if set(plans) != set(names):
        raise StrategyError(
            f"A plan has a sequence for each stream, but this one is for {', '.join(map(str, plans)) or 'none'}; "
            f"the streams are {', '.join(names)}.",
            hint="Give one sequence for each stream, by its name.",
        )
    return SemijoinPlan(tuple(_sequence(graph, head, plans[head]) for head in names))


def _sequence(graph: JoinGraph, head: str, steps: Sequence[tuple[str, str]]) -> HeadSequence:
    before, found = [head], []
    for stream, algorithm in _checked_steps(head, steps):
        possible = graph.next_streams(before)
        if stream not in possible:
            raise StrategyError(
                f"In the plan of {head}, {stream!r} cannot be joined after {', '.join(before)}.",
                hint=f"Streams with a condition on those are {', '.join(possible) or 'none: all are joined'}.",
            )
        found.append(PlanStep(stream, algorithm_of(algorithm)))
        before.append(stream)
    if len(before) < len(graph.streams):
        raise StrategyError(
            f"The plan of {head} ends after {', '.join(before)}.",
            hint=f"Add steps until all streams are joined; next can be {', '.join(graph.next_streams(before))}.",
        )
    return HeadSequence(head, tuple(found))


def _checked_steps(head: str, steps: object) -> list[tuple[str, str]]:
    listed = list(steps) if isinstance(steps, Sequence) and not isinstance(steps, str) else [steps]
    if not all(isinstance(step, tuple) and len(step) == STEP_PARTS for step in listed):
        raise StrategyError(
            f"The plan of {head} must be a list of (stream, algorithm), but is {steps!r}.",
            hint=f'Write plans={{"{head}": [("other", "SM-D1"), …]}}.',
        )
    return [(step[0], step[1]) for step in listed if isinstance(step, tuple)]


def algorithm_of(name: str) -> Algorithm:
    """An algorithm by the name that the user writes."""
    try:
        return Algorithm(name)
    except ValueError:
        allowed = ", ".join(algorithm.value for algorithm in Algorithm)
        raise StrategyError(f"{name!r} is no algorithm of a semijoin.", hint=f"Use one of {allowed}.") from None
