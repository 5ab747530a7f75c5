"""The memory that a worker really holds, sampled from outside while its state grows to five times the limit."""

from __future__ import annotations

import pytest

from benchmarks.memory.measuring import sampled
from benchmarks.memory.scenarios import UNITS

LIMIT = 12 << 20
TIMES = 5


@pytest.mark.parametrize("scenario", ["partitioned", "lazy-disk"])
def test_a_worker_never_holds_more_than_its_limit_and_a_tenth(scenario: str) -> None:
    """Mapped state and anonymous memory, merges, pushes and clean-ups included."""
    found = sampled("process", scenario, LIMIT, TIMES * LIMIT * UNITS)
    assert found["per_second"] >= 20
    assert found["largest"] <= 1.1 * LIMIT * found["units"], found
    assert found["results"] == found["expected"]
    assert found["openedBytes"] == 0
    assert (found["cleanUps"] > 0) == (scenario == "lazy-disk")
