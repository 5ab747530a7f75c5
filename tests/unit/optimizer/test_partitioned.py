"""Partitioned: the groups of each unit, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from braid.errors import StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Partitioned
from braid.plan.join import JoinPlan
from braid.testing import Draft
from braid.testing.expressions import equal


def plan() -> JoinPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=10) for name in "ab")
    return build_plan(draft.on(equal(a["k"], b["k"])).logical_plan())


def counts(strategy: Partitioned, slots: int = 3) -> list[int]:
    layout = strategy.layout(plan(), slots)
    return [layout.group_units.count(unit) for unit in range(layout.units[0])]


def test_groups_are_assigned_by_shares() -> None:
    assert counts(Partitioned(groups=300)) == [100, 100, 100]
    assert counts(Partitioned(groups=7)) == [2, 3, 2]
    assert counts(Partitioned(groups=300, assignment=(2 / 3, 1 / 6, 1 / 6))) == [200, 50, 50]
    assert counts(Partitioned(2, groups=10, assignment=(1.0, 0.0))) == [10, 0]
    assert Partitioned().layout(plan(), 3).group_units == ()


def test_it_is_described_as_it_is_written() -> None:
    strategy = Partitioned(3, groups=6, assignment=(0.5, 0.25, 0.25))
    assert strategy.describe() == "Partitioned(units=3, groups=6, assignment=(0.5, 0.25, 0.25))"
    assert Partitioned().describe() == "Partitioned()"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": 0}, "at least 1, not 0"),
        ({"groups": 40_000}, "at most 32,768, not 40,000"),
        ({"groups": 9, "assignment": "odd"}, 'must be "even" or shares'),
        ({"groups": 9, "assignment": (0.5, -0.5, 1)}, "between 0 and 1"),
        ({"groups": 9, "assignment": (0.5, 0.2)}, "must add up to 1"),
        ({"assignment": (0.5, 0.5)}, "needs partition groups"),
        ({"units": 3, "groups": 9, "assignment": (0.5, 0.5)}, "2 shares for 3 units"),
        ({"units": 3, "groups": 2}, "2 partition groups for 3 units"),
    ],
)
def test_what_cannot_be_assigned_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        Partitioned(**given).layout(plan(), 3)
