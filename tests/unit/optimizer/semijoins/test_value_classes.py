"""Classes of join values: what frequent values change, beside sums over single values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from braid.errors import StrategyError
from braid.optimizer.semijoins.costs import OneWayJoin
from braid.optimizer.semijoins.intermediate_results import joined
from braid.optimizer.semijoins.observed import frequent_values
from braid.optimizer.semijoins.statistics import FrequentValue, JoinAttribute, StreamStatistics
from braid.optimizer.semijoins.value_classes import ValueClass, matching_share, value_classes
from braid.state.observed.samples import FrequentKey, KeyCounts


def stream(name: str, values: float, shares: dict[int, float] | None = None, rate: float = 100.0) -> StreamStatistics:
    frequent = tuple(FrequentValue(key, share) for key, share in (shares or {}).items())
    return StreamStatistics(name, name, rate, 100, 2.0, (JoinAttribute("a", values, 8, frequent),))


def test_without_frequent_values_there_are_common_ones_and_those_of_one_stream() -> None:
    assert value_classes(stream("r", 50), stream("s", 20)) == (ValueClass(20, 0.4, 1.0), ValueClass(30, 0.6, 0.0))
    assert value_classes(stream("r", 5), stream("s", 20)) == (ValueClass(5, 1.0, 0.25), ValueClass(15, 0.0, 0.75))


def test_a_value_that_is_frequent_in_both_is_a_class_of_its_own() -> None:
    classes = value_classes(stream("r", 10, {7: 0.5}), stream("s", 10, {7: 0.3}))
    assert classes[0] == ValueClass(1.0, 0.5, 0.3)
    assert classes[1].values == 9
    assert classes[1].source_share == pytest.approx(0.5)
    assert classes[1].stored_share == pytest.approx(0.7)


@pytest.mark.parametrize(("mine", "other"), [(10, 10), (10, 40), (40, 10)])
def test_shares_and_numbers_of_values_add_up(mine: int, other: int) -> None:
    one, two = stream("r", mine, {1: 0.4, 2: 0.2}), stream("s", other, {2: 0.3, 3: 0.25})
    classes = value_classes(one, two)
    assert sum(each.source_share for each in classes) == pytest.approx(1)
    assert sum(each.stored_share for each in classes) == pytest.approx(1)
    assert sum(each.values for each in classes if each.source_share) == pytest.approx(mine)
    assert sum(each.values for each in classes if each.stored_share) == pytest.approx(other)


def test_sums_over_classes_are_sums_over_values() -> None:
    """Of known values by Zipf's law: distinct ones of a batch, and the share of rows with a stored value."""
    weights = 1 / np.arange(1, 21)
    shares = {key: float(share) for key, share in enumerate(weights / weights.sum())}
    join = OneWayJoin(stream("r", 20, shares, 60), stream("s", 20, shares, 5), 0.1)
    own = list(shares.values())
    assert join.source_distinct == pytest.approx(sum(1 - math.exp(-6 * share) for share in own))
    matching = sum(share * (1 - math.exp(-5 * 2.1 * share)) for share in own)
    assert join.matching_source_share == pytest.approx(matching)
    uniform = OneWayJoin(stream("r", 20, rate=60), stream("s", 20, rate=5), 0.1)
    assert join.matching_source_share > 1.3 * uniform.matching_source_share


def test_results_have_the_frequent_values_of_both() -> None:
    one, two = stream("r", 10, {1: 0.5}), stream("s", 10, {1: 0.4})
    found = joined(one, two, "r")
    pairs = 0.5 * 0.4 + 9 * (0.5 / 9) * (0.6 / 9)
    assert matching_share(one, two) == pytest.approx(pairs)
    assert found.rows_per_second == pytest.approx(100 * 200 * pairs)
    (attribute,) = found.attributes
    assert attribute.frequent == (FrequentValue(1, pytest.approx(0.2 / pairs)),)
    assert (attribute.distinct_values, found.columns) == (10, 6)


def test_values_are_frequent_if_they_have_more_rows_than_one_of_equally_frequent_ones() -> None:
    keys = (FrequentKey(5, "5", 300.0), FrequentKey(6, "6", 90.0), FrequentKey(7, "7", 40.0))
    assert frequent_values(KeyCounts(1000.0, keys), 12) == (FrequentValue(5, 0.3), FrequentValue(6, 0.09))
    assert frequent_values(KeyCounts(50.0, keys), 12) == ()


def test_frequent_values_are_among_the_distinct_ones() -> None:
    with pytest.raises(StrategyError, match="The distinct values of a must be a number of at least 2, but is 1"):
        stream("r", 1, {1: 0.5, 2: 0.5})
