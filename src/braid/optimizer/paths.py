"""Access paths: every number by which rows of one stream could search the rows of another.

An index may be sorted by any of its candidates. Which one leaves the fewest rows to compare is decided from samples:
ingest tasks evaluate the numbers of stored rows, and the terms of the bounds that probing rows have.
"""

from __future__ import annotations

from braid.optimizer.join_orders import build_probe
from braid.plan.expressions import Expression
from braid.plan.join import AccessPath, JoinPlan
from braid.plan.once_per_plan import once_per_plan


@once_per_plan
def access_paths(plan: JoinPlan) -> tuple[AccessPath, ...]:
    """The paths of every index that could be sorted by more than one number."""
    found = []
    for stream in plan.streams:
        for other in (s.number for s in plan.streams if s.number != stream.number):
            index = build_probe(plan, (other,), stream.number).index
            candidates = stream.indexes[index].candidates
            for choice in range(len(candidates) if len(candidates) > 1 else 0):
                choices = tuple(choice if number == index else 0 for number in range(len(stream.indexes)))
                probe = build_probe(plan, (other,), stream.number, choices)
                found.append(AccessPath(stream.number, index, choice, other, candidates[choice], probe.bounds))
    return tuple(found)


@once_per_plan
def sampled_expressions(plan: JoinPlan, stream: int) -> tuple[Expression, ...]:
    """What is sampled of a stream's rows: its event time, its numbers, and its terms in the bounds of others.

    Nothing, where there is nothing to choose.
    """
    wanted: dict[Expression, None] = {plan.streams[stream].time_column: None}
    paths = [path for path in access_paths(plan) if stream in (path.stream, path.other)]
    for path in paths:
        if path.stream == stream:
            wanted[path.number] = None
        else:
            wanted.update(dict.fromkeys(term for bound in path.bounds for term in (*bound.plus, *bound.minus)))
    return tuple(wanted) if paths else ()
