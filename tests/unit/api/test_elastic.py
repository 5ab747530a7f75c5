"""The arguments of `join.elastic`: sizes as Spark writes them, and settings that cannot work."""

from __future__ import annotations

from typing import Any

import pytest

from braid.api.elastic import read_bytes, read_elasticity
from braid.errors import StrategyError


@pytest.mark.parametrize(("text", "size"), [("1g", 1 << 30), ("512m", 512 << 20), ("1.5 KB", 1536), (77, 77)])
def test_sizes_are_read_as_spark_writes_them(text: str | int, size: int) -> None:
    assert read_bytes(".elastic(capacity=...)", "the memory of a unit", text) == size


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"low": 0.7}, "low < target < high"),
        ({"high": 0.5}, "low < target < high"),
        ({"patience": 0}, "patience"),
        ({"min_units": 4, "max_units": 2}, "min_units <= max_units"),
        ({"capacity": "much"}, "memory of a unit"),
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any], message: str) -> None:
    given: dict[str, Any] = {
        "low": 0.3,
        "high": 0.8,
        "target": 0.6,
        "patience": 3,
        "period": "1 minute",
        "capacity": "1g",
        "min_units": 1,
        "max_units": None,
    }
    with pytest.raises(StrategyError, match=message):
        read_elasticity(**{**given, **wrong})
