"""Trees of bicliques: joins of three and more streams whose intermediate results are stored.

In a tree of the streams 0, 1, ..., m-1 the intermediate result D(k) is the join of k, ..., m-1. New rows of stream i
look up D(i+1), then i-1, ..., 0. What each lookup finds belongs to D(i), D(i-1), ..., and finally to the results. Only
rows of D from earlier steps are visible, so a step does not depend on the order in which delta streams are processed.

The order is greedy: innermost are the two streams with the fewest expected matches per row, then at every level the
stream with the fewest. It is chosen once and recorded with the layout, because stored state depends on it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations

import xxhash

from braid.optimizer.indexes import intermediate_index
from braid.optimizer.join_orders import Order, expected_access
from braid.plan.explain import render
from braid.plan.join import Intermediate, JoinPlan
from braid.plan.once_per_plan import once_per_plan


def choose_tree(plan: JoinPlan) -> tuple[int, ...] | None:
    """The streams in the order of the tree, the outermost first; None where there is no intermediate result."""
    count = len(plan.streams)
    if count < 3:
        return None
    pairs = combinations(range(count), 2)
    first, second = min(pairs, key=lambda pair: expected_access(plan, (pair[0],), pair[1]))
    inner = [first, second]
    remaining = [stream for stream in range(count) if stream not in inner]
    while remaining:
        best = min(remaining, key=lambda stream: expected_access(plan, tuple(inner), stream))
        inner.insert(0, best)
        remaining.remove(best)
    return tuple(inner)


def in_shape(plan: JoinPlan, tree: tuple[int, ...] | None) -> JoinPlan:
    """The plan with the intermediate results of a tree; unchanged without a tree."""
    return plan if tree is None else _in_tree(plan, tree)


@once_per_plan
def _in_tree(plan: JoinPlan, tree: tuple[int, ...]) -> JoinPlan:
    intermediate = tuple(_intermediate(plan, tree, level) for level in range(1, len(tree) - 1))
    return replace(plan, tree=tree, intermediate=intermediate)


def tree_orders(plan: JoinPlan) -> tuple[Order, ...]:
    """The lookups of each delta stream: the whole tree below it at once, then the streams above, one by one."""
    tree = _tree(plan)
    levels = {stream: level for level, stream in enumerate(tree)}
    return tuple(_order(plan, tree, levels[delta_stream]) for delta_stream in range(len(tree)))


def rebuild_orders(plan: JoinPlan) -> tuple[Order, ...]:
    """Join orders that rebuild all intermediate results: rows of the innermost stream probe the others, outwards."""
    tree = _tree(plan)
    return tuple(tuple(reversed(tree[1:-1])) if delta_stream == tree[-1] else () for delta_stream in range(len(tree)))


@once_per_plan
def derivation(plan: JoinPlan) -> str | None:
    """A digest of how the intermediate results of a plan are made and kept: if it differs they must be rebuilt."""
    if plan.tree is None:
        return None
    made = {
        "tree": plan.tree,
        "predicates": [conjunct.sql for conjunct in plan.conjuncts],
        "columns": [plan.schema_of(intermediate.number).names for intermediate in plan.intermediate],
        "orders": [
            [[*index.parts, "" if index.range is None else render(index.range)] for index in intermediate.indexes]
            for intermediate in plan.intermediate
        ],
        "kept": [intermediate.kept_us for intermediate in plan.intermediate],
    }
    return xxhash.xxh3_64_hexdigest(json.dumps(made, sort_keys=True).encode())


def _tree(plan: JoinPlan) -> tuple[int, ...]:
    if plan.tree is None:
        raise ValueError("this plan has no tree")
    return plan.tree


def _intermediate(plan: JoinPlan, tree: tuple[int, ...], level: int) -> Intermediate:
    members, probing_stream = tree[level:], tree[level - 1]
    times = [stream.time_column for stream in plan.streams]
    reaches = [plan.retention_us[member][probing_stream] for member in members]
    return Intermediate(
        name=f"({' ⋈ '.join(plan.streams[member].name for member in members)})",
        number=len(plan.streams) + level - 1,
        members=members,
        probing_stream=probing_stream,
        kept_us=max((reach for reach in reaches if reach is not None), default=None),
        indexes=(intermediate_index(members, probing_stream, times, plan.parts, plan.conjuncts, plan.retention_us),),
    )


def _order(plan: JoinPlan, tree: tuple[int, ...], level: int) -> Order:
    below = tree[level + 1 :]
    first = () if not below else below if len(below) == 1 else (len(tree) + level,)
    return (*first, *reversed(tree[:level]))
