"""The number of random cases: one variable of the environment scales all of them, another picks one seed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import budget

TESTS = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(budget.CASES, raising=False)
    monkeypatch.delenv(budget.SEED, raising=False)


def test_a_plain_run_tries_what_a_property_states() -> None:
    assert budget.seeds(100, 3) == [100, 101, 102]


@pytest.mark.parametrize(("factor", "count"), [("25", 75), ("2.5", 8), ("0.4", 1), ("0.01", 1)])
def test_the_number_is_scaled_and_never_none(monkeypatch: pytest.MonkeyPatch, factor: str, count: int) -> None:
    monkeypatch.setenv(budget.CASES, factor)
    assert budget.seeds(100, 3) == list(range(100, 100 + count))
    assert f"random cases: {factor} times those of a plain run (BRAID_CASES)" in budget.describe()


def test_one_seed_can_be_tried_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(budget.SEED, "7")
    assert budget.seeds(100, 3) == [7]
    assert "seed 7 alone (BRAID_SEED)" in budget.describe()


@pytest.mark.parametrize("text", ["", "0", "-1", "many", "1e3"])
def test_another_value_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv(budget.CASES, text)
    with pytest.raises(ValueError, match=r"BRAID_CASES=.*how many times the cases of a plain run"):
        budget.seeds(100, 3)


def test_no_other_file_decides_how_many_cases_are_tried() -> None:
    reads = re.compile(r"environ.*(BRAID_CASES|BRAID_SEED)")
    assert [
        str(path) for path in TESTS.rglob("*.py") if path != Path(__file__) and reads.search(path.read_text())
    ] == []
