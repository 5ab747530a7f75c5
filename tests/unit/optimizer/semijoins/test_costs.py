"""The formulas of the six one-way joins in cases that can be worked out by hand."""

from __future__ import annotations

import math

import pytest

from braid.optimizer.semijoins.costs import COUNT_BYTES, OneWayCost, OneWayJoin, Traffic, one_way_cost
from braid.optimizer.semijoins.network import Link
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm

INTERVAL = 0.1
LINK = Link("1 Mbps", "25 ms")


def stream(rate: float, values: float, row_bytes: float = 1000.0, window: float = 3.0) -> StreamStatistics:
    return StreamStatistics("s", "s", rate, row_bytes, window, (JoinAttribute("a", values, 5.0),))


def cost(algorithm: str, source: StreamStatistics, stored: StreamStatistics) -> OneWayCost:
    return one_way_cost(Algorithm(algorithm), OneWayJoin(source, stored, INTERVAL))


def test_simple_joins_ship_all_rows_of_one_stream() -> None:
    source, stored = stream(300, 10, row_bytes=200), stream(50, 10)
    copied, sent = cost("SP-S", source, stored), cost("SP-D", source, stored)
    assert copied.backward.bytes_per_second == pytest.approx(50_000)
    assert copied.backward.messages_per_second == pytest.approx(10 * (1 - math.exp(-5)))
    assert copied.forward == Traffic()
    assert copied.copy_bytes == pytest.approx(50 * 3.1 * 1000)
    assert sent.forward.bytes_per_second == pytest.approx(60_000)
    assert sent.forward.messages_per_second == pytest.approx(10 * (1 - math.exp(-30)))
    assert (sent.backward, sent.copy_bytes) == (Traffic(), 0)


def test_where_all_values_are_present_the_shares_are_those_of_the_paper() -> None:
    """With few values and long windows: f_12 of the probing rows, f_21 of the stored rows."""
    few, more = stream(3000, 5), stream(3000, 20)
    assert cost("SM-D1", more, few).forward.bytes_per_second == pytest.approx(3000 * 5 / 20 * 1000)
    assert cost("SM-D1", few, more).forward.bytes_per_second == pytest.approx(3000 * 1000)
    assert cost("SM-S1", few, more).backward.bytes_per_second == pytest.approx(3000 * 5 / 20 * 1000 + 10 * COUNT_BYTES)
    reduced = cost("SM-D2", more, few)
    assert reduced.backward.bytes_per_second == pytest.approx(10 * 5 * 5.0)
    assert reduced.forward.bytes_per_second == pytest.approx(10 * 20 * 5.0 + 3000 * 5 / 20 * 1000, rel=1e-4)
    assert cost("SM-S2", few, more).forward.bytes_per_second == pytest.approx(0, abs=1e-9)


def test_a_value_is_shipped_with_its_count_where_that_changed() -> None:
    """Of a value 15 rows arrive and 15 expire in an interval, on average; as many with this probability."""
    chances = [math.exp(-15 + count * math.log(15) - math.lgamma(count + 1)) for count in range(100)]
    changed = 1 - sum(chance * chance for chance in chances)
    keys = cost("SM-D1", stream(10, 20), stream(3000, 20))
    assert keys.backward.bytes_per_second == pytest.approx(10 * 20 * changed * (5 + COUNT_BYTES))
    assert keys.backward.messages_per_second == pytest.approx(10)
    assert keys.copy_bytes == pytest.approx(20 * (5 + COUNT_BYTES))


def test_rare_stored_rows_are_fetched_once_each() -> None:
    """Values that never repeat: both algorithms fetch the same rows, those that a probing row finds."""
    source, stored = stream(100, 1e6), stream(20, 1e6)
    share = 1 - math.exp(-100 * 3.1 / 1e6)
    for algorithm in ("SM-S1", "SM-S2"):
        without_rows = cost(algorithm, source, stream(20, 1e6, row_bytes=0)).backward.bytes_per_second
        rows = cost(algorithm, source, stored).backward.bytes_per_second - without_rows
        assert rows == pytest.approx(20 * share * 1000, rel=0.01)


def test_a_fetched_value_goes_on_being_sent() -> None:
    """SM-S2 sends new rows of a fetched value at once, SM-S1 waits for a probing row: it sends fewer."""
    for rate in (1.0, 10.0, 100.0):
        source, stored, empty = stream(rate, 50), stream(200, 50), stream(200, 50, row_bytes=0)
        sent = [
            cost(algorithm, source, stored).backward.bytes_per_second
            - cost(algorithm, source, empty).backward.bytes_per_second
            for algorithm in ("SM-S1", "SM-S2")
        ]
        assert sent[0] < sent[1] <= 200_000 * (1 + 1e-9)


@pytest.mark.parametrize("algorithm", [each.value for each in Algorithm])
def test_silent_streams_cost_nothing(algorithm: str) -> None:
    silent = cost(algorithm, stream(0, 10), stream(0, 10))
    assert (silent.forward, silent.backward, silent.copy_bytes) == (Traffic(), Traffic(), 0)


def test_probing_rows_without_stored_ones() -> None:
    source, stored = stream(100, 10), stream(0, 10)
    assert cost("SP-S", source, stored).link_seconds(LINK) == 0
    assert cost("SM-S2", source, stored).link_seconds(LINK) == 0
    assert cost("SM-D1", source, stored).link_seconds(LINK) == 0
    assert cost("SM-D2", source, stored).backward.bytes_per_second == 0


def test_a_link_is_busy_for_messages_and_bytes() -> None:
    traffic = OneWayCost(Traffic(12_500, 10), Traffic(25_000, 4), 2, 0.0, cost("SP-D", stream(1, 1), stream(1, 1)).work)
    assert traffic.link_seconds(LINK) == pytest.approx(14 * 0.025 + 0.3)
    assert traffic.latency_seconds(LINK) == pytest.approx(0.05)
    assert traffic.link_seconds(None) == traffic.latency_seconds(None) == 0


@pytest.mark.parametrize(
    ("algorithm", "trips"), [("SP-S", 1), ("SP-D", 1), ("SM-S1", 2), ("SM-S2", 3), ("SM-D1", 2), ("SM-D2", 3)]
)
def test_messages_that_follow_each_other(algorithm: str, trips: int) -> None:
    assert cost(algorithm, stream(100, 10), stream(100, 10)).trips == trips


@pytest.mark.parametrize("algorithm", [each.value for each in Algorithm])
def test_where_results_arise(algorithm: str) -> None:
    assert Algorithm(algorithm).at_source == algorithm.partition("-")[2].startswith("S")
