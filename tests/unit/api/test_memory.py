"""The arguments of `join.memory`: what is read, and what is refused, by name."""

from __future__ import annotations

from typing import Any

import pytest

from braid.api.memory import deferring, read_memory
from braid.control.memory.overflow import policy_of, settings_of
from braid.control.memory.settings import MemorySettings
from braid.engine.memory.floor import require_floor
from braid.errors import DurationError, StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Partitioned
from braid.plan.join import JoinPlan
from braid.plan.memory import FLOOR_BYTES, MemoryLimit
from braid.plan.sizes import format_bytes
from braid.testing import Draft
from braid.testing.expressions import equal

DEFAULTS: dict[str, Any] = {
    "limit": "512m",
    "overflow": "read-through",
    "spill_at": 0.9,
    "spill_share": 0.3,
    "victims": "unproductive",
    "inactive_after": None,
    "balance": 0.8,
    "min_interval": None,
    "rate_ratio": None,
    "sample_every": None,
    "disk_limit": None,
    "cache_limit": None,
}


def test_the_defaults_are_a_limit_of_512_megabytes() -> None:
    assert read_memory(**DEFAULTS) == MemoryLimit(512 << 20)


def test_all_arguments_are_read() -> None:
    given = {"limit": 1000, "overflow": "lazy-disk", "spill_at": 0.5, "spill_share": 1, "victims": "random"}
    given |= {"inactive_after": "1 second", "balance": 0.1, "min_interval": "2 seconds", "rate_ratio": 2}
    given |= {"sample_every": "3 seconds", "disk_limit": "1g", "cache_limit": "1k"}
    expected = MemoryLimit(
        1000, "lazy-disk", 0.5, 1.0, "random", 1_000_000, 0.1, 2_000_000, 2.0, 3_000_000, 1 << 30, 1 << 10
    )
    assert read_memory(**{**DEFAULTS, **given}) == expected


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"limit": "much"}, "limit=...) is the memory of a unit, but got 'much'"),
        ({"limit": 0}, "limit"),
        ({"overflow": "swap"}, "'read-through', 'lazy-disk', 'active-disk', but got 'swap'"),
        ({"victims": "all"}, "'unproductive', 'productive', 'random', but got 'all'"),
        ({"spill_at": 0}, "spill_at=...) is a share above 0, up to 1, but got 0"),
        ({"spill_share": 1.5}, "spill_share"),
        ({"spill_share": True}, "spill_share"),
        ({"balance": "0.8"}, "balance"),
        ({"rate_ratio": 1}, "rate_ratio=...) is a number above 1, but got 1"),
        ({"disk_limit": "-1g"}, "disk_limit=...) is the size of the checkpoint"),
        ({"cache_limit": "none"}, "cache_limit=...) is the size of local copies"),
    ],
)
def test_what_cannot_work_is_refused_by_name(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(StrategyError) as error:
        read_memory(**{**DEFAULTS, **wrong})
    assert said in error.value.message


@pytest.mark.parametrize("name", ["inactive_after", "min_interval", "sample_every"])
def test_durations_are_durations(name: str) -> None:
    with pytest.raises(DurationError, match=name):
        read_memory(**{**DEFAULTS, name: "soon"})


def plan_of(ordered: bool = False) -> JoinPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=10) for name in "ab")
    draft.on(equal(a["k"], b["k"]))
    return build_plan((draft.ordered() if ordered else draft).logical_plan())


def test_overflow_that_defers_results_needs_partition_groups_and_has_300_of_them() -> None:
    assert deferring(Auto(), MemoryLimit(1), plan_of()) == Auto()
    assert deferring(Partitioned(2), MemoryLimit(1, "lazy-disk"), plan_of()) == Partitioned(2, groups=300)
    assert deferring(Partitioned(2, 9), MemoryLimit(1, "active-disk"), plan_of()) == Partitioned(2, 9)
    with pytest.raises(StrategyError, match=r"lazy-disk.*Auto\(\) does not have") as error:
        deferring(Auto(), MemoryLimit(1, "lazy-disk"), plan_of())
    assert 'overflow="read-through"' in error.value.hint
    with pytest.raises(StrategyError, match="emitted in order"):
        deferring(Partitioned(2), MemoryLimit(1, "lazy-disk"), plan_of(ordered=True))


def test_the_controllers_take_what_was_given_and_choose_the_rest() -> None:
    assert policy_of(None) is None
    assert policy_of(MemoryLimit(1)) is None
    given = MemoryLimit(9, "active-disk", 0.8, 0.2, "random", inactive_after_us=5_000, balance=0.7, rate_ratio=3.0)
    expected = MemorySettings(9, "active-disk", 0.8, 0.2, "random", inactive_after_ms=5, balance=0.7, rate_ratio=3.0)
    assert settings_of(given, "active-disk") == expected


def test_a_limit_below_the_floor_is_refused_with_the_floor() -> None:
    require_floor(MemoryLimit(FLOOR_BYTES), slots=4, units=4)
    require_floor(MemoryLimit(FLOOR_BYTES // 2), slots=4, units=8)
    with pytest.raises(StrategyError) as error:
        require_floor(MemoryLimit(FLOOR_BYTES - 1), slots=4, units=4)
    assert format_bytes(FLOOR_BYTES) in error.value.message
    assert format_bytes(FLOOR_BYTES) in error.value.hint


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0b"), (1023, "1023b"), (1536, "1.5k"), (512 << 20, "512m"), (3 << 40, "3t")]
)
def test_sizes_are_written_as_they_are_read(size: int, text: str) -> None:
    assert format_bytes(size) == text
