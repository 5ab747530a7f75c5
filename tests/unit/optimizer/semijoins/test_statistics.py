"""Statistics of streams and of intermediate results."""

from __future__ import annotations

import itertools
import math
import random

import pytest

from braid.errors import StrategyError
from braid.optimizer.semijoins.intermediate_results import joined
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics, join_keys


def stream(name: str, rate: float, **values: float) -> StreamStatistics:
    attributes = tuple(JoinAttribute(attribute, distinct, 4) for attribute, distinct in values.items())
    return StreamStatistics(name, name, rate, 100, 2.0, attributes)


def test_the_selectivity_of_a_join_is_the_smaller_factor() -> None:
    keys = join_keys(stream("r", 10, a=50), stream("s", 10, a=20))
    assert (keys.source_values, keys.stored_values, keys.common_values) == (50, 20, 20)
    assert keys.selectivity == 1 / 50
    assert join_keys(stream("s", 10, a=20), stream("r", 10, a=50)).selectivity == 1 / 50


def test_several_attributes_are_independent() -> None:
    keys = join_keys(stream("r", 10, a=5, b=4, c=9), stream("s", 10, a=10, b=2, d=7))
    assert (keys.source_values, keys.stored_values, keys.common_values) == (20, 20, 10)
    assert (keys.source_bytes, keys.stored_bytes) == (8, 8)
    assert keys.selectivity == 1 / 10 / 4


def test_without_a_common_attribute_every_pair_matches() -> None:
    assert join_keys(stream("r", 10, a=5), stream("s", 10, b=5)).selectivity == 1.0


def test_an_intermediate_result_has_the_columns_and_matches_of_both() -> None:
    result = joined(stream("r", 10, a=50), stream("s", 30, a=20, b=3), "s")
    assert result.rows_per_second == pytest.approx(10 * 60 / 50)
    assert (result.site, result.row_bytes, result.window_seconds) == ("s", 200, 0.0)
    assert result.attributes == (JoinAttribute("a", 20, 4), JoinAttribute("b", 3, 4))


def test_intermediate_results_do_not_depend_on_the_order_of_joins() -> None:
    chance = random.Random(1)
    others = [stream(name, chance.uniform(1, 9), a=chance.randint(1, 99), b=chance.randint(1, 99)) for name in "stu"]
    results = []
    for order in itertools.permutations(others):
        result = stream("r", 5, a=30, b=7)
        for other in order:
            result = joined(result, other, "r")
        results.append(result)
    first = results[0]
    assert all(result.attributes == first.attributes for result in results)
    assert all(math.isclose(result.rows_per_second, first.rows_per_second) for result in results)


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(StrategyError, match="The distinct values of a must be a number of at least 1, but is 0"):
        JoinAttribute("a", 0, 4)
    with pytest.raises(StrategyError, match="The bytes of a value of a"):
        JoinAttribute("a", 1, -4)
    for broken in (-1.0, math.nan, math.inf):
        with pytest.raises(StrategyError, match="The rate of r"):
            stream("r", broken)
        with pytest.raises(StrategyError, match="The bytes of a row of r"):
            StreamStatistics("r", "r", 1, broken, 1, ())
        with pytest.raises(StrategyError, match="The window of r"):
            StreamStatistics("r", "r", 1, 1, broken, ())
    with pytest.raises(StrategyError, match="repeat: a, a"):
        StreamStatistics("r", "r", 1, 1, 1, (JoinAttribute("a", 1, 1), JoinAttribute("a", 2, 1)))
