"""Strategies read from their text."""

from __future__ import annotations

import pytest

from benchmarks.strategies import strategy_of


@pytest.mark.parametrize(
    "text",
    [
        "Biclique(units=(4, 4), groups=2)",
        "Matrix(rows=4, columns=4)",
        "TimeSliced(units=3)",
        "Auto()",
        "AlignedRouting('20 seconds', units=3, master='b')",
        "CoordinatedRouting(2, units=5)",
    ],
)
def test_a_strategy_is_read_from_what_it_says_of_itself(text: str) -> None:
    assert strategy_of(text).describe() == text


def test_a_text_that_is_no_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="there are Partitioned, Biclique, TimeSliced, Matrix, Auto"):
        strategy_of("print('here')")
    with pytest.raises(ValueError, match="malformed"):
        strategy_of("Matrix(rows=open('here'))")
