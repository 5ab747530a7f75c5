"""The order of conjuncts: by guesses at first, then by what was measured; what may raise keeps its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from braid.optimizer.build import build_plan
from braid.optimizer.check_orders import check_estimates, choose_check_order, pair_estimate
from braid.optimizer.join_orders import build_probe
from braid.optimizer.sequences import best_orders
from braid.plan.join import JoinPlan
from braid.state.manifest import CheckCost, Fanout
from braid.testing import Draft
from braid.testing.expressions import less

Promise = dict[str, Any]
FREE: Promise = {"raises": False}


def never(*_: object) -> None:
    raise AssertionError("a plan calls no function")


def plan_of(*promises: Promise, streams: int = 2, expression: bool = False) -> JoinPlan:
    """Functions of neighbouring streams, one for each promise; of two streams all are of both."""
    draft = Draft()
    made = [draft.stream(f"s{number}", {"v": "double"}, window_us=10) for number in range(streams)]
    for number, promise in enumerate(promises):
        one = number % (streams - 1)
        draft.on_function(never, made[one]["v"], made[one + 1]["v"], **promise)
    if expression:
        draft.on(less(made[0]["v"], made[1]["v"]))
    return build_plan(draft.logical_plan())


def measured(conjunct: int, seconds: float, passing: float, pairs: float = 1e6) -> CheckCost:
    return CheckCost(conjunct, pairs, pairs * seconds, pairs, pairs * passing)


def test_given_costs_and_selectivities_are_the_first_guess() -> None:
    plan = plan_of(FREE | {"cost": 1e-3}, FREE | {"cost": 1e-6, "selectivity": 0.9}, FREE | {"selectivity": 0.01})
    assert choose_check_order(plan, ()) == (2, 1, 0)


def test_what_was_measured_replaces_it_and_few_pairs_do_not() -> None:
    plan = plan_of(FREE | {"cost": 1e-9, "selectivity": 0.0}, FREE | {"cost": 1.0, "selectivity": 1.0})
    seen = (measured(0, 5e-5, 0.5), measured(1, 1e-6, 0.01))
    assert choose_check_order(plan, ()) == (0, 1)
    assert choose_check_order(plan, seen) == (1, 0)
    few = tuple(replace(cost, pairs=1.0, sampled=1.0) for cost in seen)
    assert choose_check_order(plan, few) == (0, 1)


def test_a_conjunct_that_passes_everything_comes_last() -> None:
    plan = plan_of(FREE, FREE)
    assert choose_check_order(plan, (measured(0, 1e-9, 1.0), measured(1, 1e-3, 0.99))) == (1, 0)


def test_functions_that_may_raise_keep_their_place_after_all_others() -> None:
    plan = plan_of({}, FREE, {}, expression=True)
    costs = (measured(0, 1e-9, 0.0), measured(2, 1e-12, 0.0), measured(1, 1.0, 0.9))
    order = choose_check_order(plan, costs)
    assert order == (3, 1)
    assert build_probe(plan, (0,), 1, (), order).checks == (3, 1, 0, 2)


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_the_cost_of_several_counts_the_pairs_that_are_left(order: tuple[int, ...]) -> None:
    plan = plan_of(FREE, FREE, FREE)
    estimates = check_estimates(plan, [measured(0, 8e-6, 0.5), measured(1, 2e-6, 0.1), measured(2, 1e-6, 0.25)])
    together = pair_estimate(estimates, order)
    assert together.passing == pytest.approx(0.0125)
    assert together.seconds == pytest.approx({0: 8e-6 + 1e-6 + 0.05e-6, 2: 1e-6 + 2e-6 + 0.125 * 2e-6}[order[0]])


def test_a_function_that_cannot_raise_is_decided_when_its_streams_are_joined() -> None:
    free, waiting = plan_of(FREE, FREE, streams=3), plan_of({}, {}, streams=3)
    assert build_probe(free, (2,), 1).checks == (1,)
    assert build_probe(waiting, (2,), 1).checks == ()
    assert build_probe(waiting, (2, 1), 0).checks == (0, 1)


def test_the_middle_of_a_chain_of_functions_is_joined_first() -> None:
    assert best_orders(plan_of(FREE, FREE, streams=3)) == ((1, 2), (0, 2), (1, 0))


def test_from_the_middle_the_selective_function_comes_first_and_the_expensive_one_on_what_is_left() -> None:
    plan = plan_of(FREE, FREE, streams=3)
    left, right = (measured(0, 1e-6, 0.001), measured(1, 5e-5, 0.5)), (measured(0, 5e-5, 0.5), measured(1, 1e-6, 0.001))
    assert best_orders(plan, (), left)[1] == (0, 2)
    assert best_orders(plan, (), right)[1] == (2, 0)


def test_matches_seen_after_the_same_streams_decide_before_guesses() -> None:
    plan = plan_of(FREE, FREE, streams=3)
    seen = (Fanout(1, 0, (1,), 1e6, 9e6, 1e8), Fanout(1, 2, (1,), 1e6, 1e3, 1e8))
    assert best_orders(plan, seen, ())[1] == (2, 0)


def test_nine_streams_are_ordered_without_trying_all_subsets() -> None:
    plan = plan_of(*[FREE] * 8, streams=9)
    orders = best_orders(plan)
    assert [sorted((head, *order)) for head, order in enumerate(orders)] == [list(range(9))] * 9
    assert orders[0] == tuple(range(1, 9))
