"""The cost of a join of three and more streams by sequences and as a tree, per input row.

`lookups` counts probing rows, `matches` the rows that all lookups find, `stored` the rows added to state: the row
itself, and in a tree its share of the intermediate results. All streams are assumed to have the same rate. The matches
in an intermediate result are estimated by looking up its members one by one, the fewest matches first.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from braid.optimizer.join_orders import Order, Seen, choose_join_orders, expected_matches, greedy_order, seen_matches
from braid.optimizer.trees import choose_tree, in_shape, tree_orders
from braid.plan.join import JoinPlan
from braid.state.manifest import Fanout


@dataclass(frozen=True)
class ShapeCost:
    """The cost of an input row, averaged over the streams."""

    lookups: float
    matches: float
    stored: float

    def describe(self) -> str:
        return f"lookups {self.lookups:,.4g}, matches {self.matches:,.4g}, rows stored {self.stored:,.4g}"


def sequences_cost(plan: JoinPlan, fanouts: Sequence[Fanout] = ()) -> ShapeCost:
    """The cost by sequences, from observed fan-outs, or else the expectations of access paths."""
    return _average(plan, choose_join_orders(plan, fanouts), seen_matches(fanouts))


def tree_cost(plan: JoinPlan, fanouts: Sequence[Fanout] = ()) -> ShapeCost:
    """The cost of the plan's tree."""
    return _average(plan, tree_orders(plan), seen_matches(fanouts))


def describe_shapes(plan: JoinPlan, tree: tuple[int, ...] | None) -> tuple[str, ...]:
    """The costs of both shapes as text; empty for two streams. Without a tree, `choose_tree` provides one."""
    order = choose_tree(plan) if tree is None else tree
    if order is None:
        return ()
    shaped = in_shape(plan, order)
    names = [plan.streams[stream].name for stream in order]
    return (
        "expected for a row of input, if every stream brings as many:",
        f"  sequences: {sequences_cost(plan).describe()}",
        f"  tree {_nested(names)}: {tree_cost(shaped).describe()}",
    )


def _average(plan: JoinPlan, join_orders: Sequence[Order], seen: Seen) -> ShapeCost:
    costs = [_delta_row_cost(plan, delta_stream, order, seen) for delta_stream, order in enumerate(join_orders)]
    return ShapeCost(
        lookups=sum(cost.lookups for cost in costs) / len(costs),
        matches=sum(cost.matches for cost in costs) / len(costs),
        stored=sum(cost.stored for cost in costs) / len(costs),
    )


def _delta_row_cost(plan: JoinPlan, delta_stream: int, order: Order, seen: Seen) -> ShapeCost:
    """The cost of one new row of a stream: all rows that a lookup finds make the next lookup."""
    joined: tuple[int, ...] = (delta_stream,)
    rows, lookups, matches, stored = 1.0, 0.0, 0.0, 1.0
    for number in order:
        lookups += rows
        rows *= _matches(plan, delta_stream, joined, number, seen)
        matches += rows
        joined = (*joined, *plan.members(number))
        stored += rows if plan.intermediate_of(joined) is not None else 0.0
    return ShapeCost(lookups, matches, stored)


def _matches(plan: JoinPlan, delta_stream: int, joined: tuple[int, ...], number: int, seen: Seen) -> float:
    members = plan.members(number)
    known = seen.get((delta_stream, number, tuple(sorted(joined))))
    if known is not None or len(members) == 1:
        return expected_matches(plan, delta_stream, joined, number, seen)
    order = greedy_order(plan, delta_stream, members, seen)
    return math.prod(
        expected_matches(plan, delta_stream, (*joined, *order[:place]), stream, seen)
        for place, stream in enumerate(order)
    )


def _nested(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} ⋈ {_bracketed(names[1:])}"


def _bracketed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"({_nested(names)})"
