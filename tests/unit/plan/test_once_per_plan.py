"""Values of functions of a plan are computed once for each plan object, and go with it."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, replace

from braid.plan.once_per_plan import once_per_plan


@dataclass(frozen=True)
class Plan:
    name: str


calls: list[tuple[str, int]] = []


@once_per_plan
def repeated(plan: Plan, times: int) -> str:
    calls.append((plan.name, times))
    return plan.name * times


def test_a_value_is_computed_once_for_each_plan_and_argument() -> None:
    calls.clear()
    plan = Plan("a")
    assert [repeated(plan, 2), repeated(plan, 3), repeated(plan, 2)] == ["aa", "aaa", "aa"]
    assert calls == [("a", 2), ("a", 3)]
    other = replace(plan, name="b")
    assert repeated(other, 2) == "bb"
    assert repeated(plan, 2) == "aa"


def test_a_plan_that_is_gone_leaves_nothing_to_one_in_its_place() -> None:
    for number in range(200):
        plan = Plan(str(number))
        assert repeated(plan, 2) == f"{number}{number}"
        known = weakref.ref(plan)
        del plan
        gc.collect(0)
        assert known() is None
