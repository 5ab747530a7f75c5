"""The memory that a worker really holds, sampled from outside while its state grows to five times the limit."""

from __future__ import annotations

from benchmarks.memory import ROWS, UNITS, sampled

LIMIT = 12 << 20
TIMES = 5


def test_a_worker_never_holds_more_than_its_limit_and_a_tenth() -> None:
    """Mapped state and anonymous memory, every 20 ms where the machine allows it, merges included."""
    found = sampled(LIMIT, "partitioned", TIMES * LIMIT * UNITS)
    assert found["samples"] > 50
    assert found["largest"] <= 1.1 * LIMIT * UNITS, found
    # Of each stream one of a hundred rows has a partner in its own step, and one in the step before.
    assert found["results"] == (found["steps"] - 1) * 2 * ROWS // 100
