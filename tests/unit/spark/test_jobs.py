"""The stages of a probe job: where registered functions are evaluated for all delta streams."""

from __future__ import annotations

from braid.plan.join import Stage
from braid.spark.jobs import aligned_stages
from tests.unit.optimizer.test_join_orders import with_functions


def test_a_registered_function_has_the_same_place_for_all_delta_streams() -> None:
    plan = with_functions("safe", "udf", "raising", "udf")
    guard, barrier = Stage("jvm", (0,)), Stage("python", ())
    first, second = Stage("jvm", (1, 2)), Stage("jvm", (3,))
    stages = [(guard, barrier, first, barrier, second), (first, barrier, second)]
    assert aligned_stages(plan, stages) == [
        [guard, barrier, first, barrier, second],
        [None, None, first, barrier, second],
    ]


def test_stages_without_registered_functions_keep_their_places() -> None:
    plan = with_functions("safe", "raising")
    assert aligned_stages(plan, [(Stage("jvm", (0, 1)),), ()]) == [[Stage("jvm", (0, 1))], [None]]
