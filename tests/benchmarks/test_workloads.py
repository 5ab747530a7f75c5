"""Nexmark and TPC-H as streams: the same rows however they are cut, keys that meet, and joins that find something."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from benchmarks.workloads import nexmark, tpch
from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, Workload

RATE = 10_000
EVENTS = 200_000  # 20 s
SEED = 7
SCALE_FACTOR = 0.01
KINDS = (nexmark.persons, nexmark.auctions, nexmark.bids)
NEXMARK = (nexmark.q3, nexmark.q8, nexmark.q9, nexmark.q20)
TPCH = (tpch.q5, tpch.q7, tpch.band)

Q5_OF_TABLES = """
    lineitem, supplier, nation, region
    WHERE l_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
"""
Q7_OF_TABLES = """
    lineitem, supplier, nation
    WHERE l_suppkey = s_suppkey AND s_nationkey = n_nationkey
      AND n_name IN ('FRANCE', 'GERMANY') AND year(l_shipdate) IN (1995, 1996)
"""
BAND_OF_TABLES = """
    lineitem l1, lineitem l2
    WHERE l2.l_orderkey IN (l1.l_orderkey - 1, l1.l_orderkey, l1.l_orderkey + 1)
      AND l1.l_shipmode = 'TRUCK' AND l2.l_shipinstruct = 'NONE' AND l1.l_quantity > 48
"""

Query: TypeAlias = Callable[..., Workload]

with_tpch = pytest.mark.skipif(
    tpch.generator() is None, reason=f"TPC-H's rows need {tpch.REQUIREMENT}, part of the bench extra"
)


@pytest.fixture(scope="module")
def site() -> tuple[pa.Table, ...]:
    """People, auctions and bids of one interval."""
    return tuple(rows(SEED, 0, EVENTS, RATE) for rows in KINDS)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that keeps TPC-H's tables."""
    return tmp_path_factory.mktemp("tpch")


def microseconds(table: pa.Table, column: str = "ts") -> npt.NDArray[np.int64]:
    since: npt.NDArray[np.int64] = table[column].cast(pa.int64()).to_numpy() - FIRST_SECOND * SECOND_US
    return since


def seconds(workload: Workload) -> range:
    return range(round(workload.batches * workload.seconds_per_batch))


def streams(workload: Workload) -> dict[str, pa.Table]:
    return {feed.name: pa.concat_tables(feed.second(at) for at in seconds(workload)) for feed in workload.feeds}


def answer(workload: Workload, on: str, window_seconds: float | None) -> pa.Table:
    """What a workload selects where a condition holds within a window of event time, by DuckDB."""
    one, other = workload.stream_names
    if window_seconds is not None:
        on += f" AND abs(epoch_us({one}.ts) - epoch_us({other}.ts)) <= {round(window_seconds * SECOND_US)}"
    with duckdb.connect() as connection:
        for name, table in streams(workload).items():
            connection.register(name, table)
        selected = ", ".join(workload.select)
        return connection.sql(f"SELECT {selected} FROM {one} JOIN {other} ON {on}").to_arrow_table()


def rows_in(table: pa.Table, *keys: str) -> int:
    """How many rows differ in the given columns."""
    return int(table.group_by(list(keys)).aggregate([]).num_rows)


def test_nexmark_has_one_person_to_three_auctions_and_46_bids(site: tuple[pa.Table, ...]) -> None:
    assert [table.num_rows for table in site] == [4_000, 12_000, 184_000]


@pytest.mark.parametrize("rows", KINDS)
@pytest.mark.parametrize("cuts", [(0, 1, 2, 5, 53, 1_000), (0, 500, 1_000), (0, 49, 50, 51, 999, 1_000)])
def test_nexmark_rows_do_not_depend_on_the_cut(rows: nexmark.Rows, cuts: tuple[int, ...]) -> None:
    begin = 12_345
    pieces = [rows(SEED, begin + first, last - first, RATE) for first, last in pairwise(cuts)]
    assert pa.concat_tables(pieces).equals(rows(SEED, begin, 1_000, RATE))


@pytest.mark.parametrize("rows", KINDS)
def test_nexmark_rows_depend_on_the_seed(rows: nexmark.Rows) -> None:
    assert rows(SEED, 0, 1_000, RATE).equals(rows(SEED, 0, 1_000, RATE))
    assert not rows(SEED, 0, 1_000, RATE).equals(rows(SEED + 1, 0, 1_000, RATE))


def test_nexmark_ids_count_up_and_every_event_has_its_own_time(site: tuple[pa.Table, ...]) -> None:
    for table in site:
        assert table["id"].to_pylist() == list(range(nexmark.FIRST_ID, nexmark.FIRST_ID + table.num_rows))
        assert (np.diff(microseconds(table)) > 0).all()
    times = np.sort(np.concatenate([microseconds(table) for table in site]))
    assert (times == np.arange(EVENTS) * SECOND_US // RATE).all()


def test_nexmark_times_never_fall_when_events_share_a_microsecond() -> None:
    assert (np.diff(microseconds(nexmark.bids(SEED, 0, 10_000, 3_000_000))) >= 0).all()


def test_nexmark_references_are_to_recent_rows_or_to_the_next_few(site: tuple[pa.Table, ...]) -> None:
    people, auctions, bids = site
    references = (
        (auctions, "seller", people, 1_000),
        (bids, "bidder", people, 1_000),
        (bids, "auction", auctions, 101),
    )
    for table, column, referred, reach in references:
        newest = np.searchsorted(microseconds(referred), microseconds(table)) - 1
        ahead = table[column].to_numpy() - nexmark.FIRST_ID - newest
        assert ahead.max() == nexmark.LEAD
        assert ahead.min() >= 1 - reach
        assert (newest + ahead).min() == 0


def test_nexmark_has_hot_sellers_and_hot_auctions(site: tuple[pa.Table, ...]) -> None:
    _, auctions, bids = site
    hot_sellers = np.mean(auctions["seller"].to_numpy() % nexmark.HOT_EVERY == 0)
    hot_bids = np.mean(bids["auction"].to_numpy() % nexmark.HOT_EVERY == 0)
    assert hot_sellers == pytest.approx(0.75, abs=0.02)
    assert hot_bids == pytest.approx(0.5, abs=0.02)


def test_nexmark_values_are_the_ones_queries_ask_for(site: tuple[pa.Table, ...]) -> None:
    people, auctions, bids = site
    assert set(people["state"].to_pylist()) == set(nexmark.STATES)
    assert set(auctions["category"].to_pylist()) == {10, 11, 12, 13, 14}
    assert pc.all(pc.match_substring_regex(people["email"], r"^[a-z]{7}@[a-z]{5}\.com$")).as_py()
    assert pc.all(pc.match_substring_regex(people["credit_card"], r"^\d{4} \d{4} \d{4} \d{4}$")).as_py()
    assert pc.all(pc.greater(auctions["reserve"], auctions["initial_bid"])).as_py()
    assert pc.min_max(bids["price"]).as_py()["min"] >= 100
    assert pc.min_max(bids["price"]).as_py()["max"] <= 100_000_000


def test_nexmark_auctions_end_after_they_open_and_in_bounded_time(site: tuple[pa.Table, ...]) -> None:
    lengths = microseconds(site[1], "expires") - microseconds(site[1])
    longest = nexmark.longest_auction_us(RATE)
    assert longest == 333_200
    assert lengths.min() > 0
    assert 0.99 * longest < lengths.max() <= longest


@pytest.mark.parametrize("query", NEXMARK)
def test_nexmark_feeds_give_seconds_with_their_schema(query: Query) -> None:
    for feed in query(events_per_second=RATE).feeds:
        second = feed.second(3)
        assert second.schema.equals(feed.schema)
        assert set(microseconds(second) // SECOND_US) == {3}


@pytest.mark.parametrize(
    ("query", "of", "least", "most"),
    [
        (nexmark.q3, "auction", 0.07, 0.13),  # one category of five, three states of six
        (nexmark.q8, "auction", 0.9, 0.99),  # most sellers have just come
        (nexmark.q9, "bid", 0.5, 0.8),  # the others come before their auction, or when it is over
        (nexmark.q20, "bid", 0.1, 0.3),  # one category of five, by few hot auctions
    ],
)
def test_nexmark_queries_find_their_share(query: Query, of: str, least: float, most: float) -> None:
    workload = query(events_per_second=RATE, batches=20)
    found = answer(workload, workload.on, workload.window_seconds)
    assert found.column_names == list(workload.output_names)
    assert rows_in(found, f"{of}_id") == found.num_rows  # each finds one partner at most
    assert least < found.num_rows / streams(workload)[of].num_rows < most


@pytest.mark.parametrize("query", NEXMARK)
def test_nexmark_windows_lose_nothing(query: Query) -> None:
    workload = query(events_per_second=5_000, batches=30)
    windowed = answer(workload, workload.on, workload.window_seconds)
    assert windowed.num_rows == answer(workload, workload.on, None).num_rows


def test_nexmark_q8_keeps_to_windows_that_tumble() -> None:
    workload = nexmark.q8(events_per_second=RATE, batches=20)
    by_arithmetic = "person.id = auction.seller AND epoch_us(person.ts) // 10000000 = epoch_us(auction.ts) // 10000000"
    found, expected = (answer(workload, on, None).sort_by("auction_id") for on in (workload.on, by_arithmetic))
    assert found.equals(expected)
    assert len(found["window_start"].unique()) == 2


def counted(query: str, tables: Path) -> int:
    """A count over TPC-H's own tables."""
    made = tpch.tables(SCALE_FACTOR, tables)
    with duckdb.connect() as connection:
        for name in tpch.TABLES:
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM '{made}/{name}.parquet'")
        return int(connection.sql(f"SELECT count(*) FROM {query}").fetchall()[0][0])


@with_tpch
@pytest.mark.parametrize("query", TPCH)
def test_tpch_rows_all_arrive_once_in_time_and_shuffled(query: Query, tables: Path) -> None:
    workload = query(scale_factor=SCALE_FACTOR, batches=7, directory=tables)
    for feed, rows in zip(workload.feeds, streams(workload).values(), strict=True):
        keys = ("suppkey",) if feed.name == "supplier" else ("orderkey", "linenumber")
        assert rows.schema.equals(feed.schema)
        assert rows.num_rows == rows_in(rows, *keys)
        assert rows.num_rows == counted("supplier" if feed.name == "supplier" else "lineitem", tables)
        assert (np.diff(microseconds(rows)) > 0).all()
        assert abs(np.corrcoef(microseconds(rows), rows[keys[0]].to_numpy())[0, 1]) < 0.2
        assert [set(microseconds(feed.second(at)) // SECOND_US) for at in (0, 6, 7)] == [{0}, {6}, set()]


@with_tpch
def test_tpch_streams_may_be_parts_samples_and_with_nations(tables: Path) -> None:
    whole, part = (tpch.q5(SCALE_FACTOR, batches=1, directory=tables, line_item_parts=parts) for parts in (1, 10))
    counts = [[feed.second(0).num_rows for feed in one.feeds] for one in (whole, part)]
    assert counts[0][0] == counts[1][0]
    assert counts[1][1] == pytest.approx(counts[0][1] / 10, rel=0.1)
    plain = tpch.band(SCALE_FACTOR, batches=1, directory=tables)
    sampled = tpch.band(SCALE_FACTOR, batches=1, directory=tables, one_in=10, with_nation=True)
    first, second = (feed.second(0) for feed in sampled.feeds)
    assert second.num_rows == -(-plain.feeds[1].second(0).num_rows // 10)
    assert first.drop(["nation"]) == plain.feeds[0].second(0)
    assert len(set(first["nation"].to_pylist())) == 25


@with_tpch
def test_tpch_streams_are_the_same_every_time_and_shuffle_apart(tables: Path) -> None:
    first, again = (streams(tpch.band(SCALE_FACTOR, batches=7, directory=tables)) for _ in range(2))
    assert first["l1"].equals(again["l1"])
    assert first["l2"].equals(again["l2"])
    assert not first["l1"]["orderkey"].equals(first["l2"]["orderkey"])


@with_tpch
def test_tpch_may_end_within_a_second(tables: Path) -> None:
    workload = tpch.q5(SCALE_FACTOR, seconds_per_batch=0.5, batches=5, directory=tables)
    for feed in workload.feeds:
        rows = pa.concat_tables(feed.second(at) for at in range(4))
        assert rows.num_rows == counted(feed.name, tables)
        assert 2_450_000 < microseconds(rows).max() < 2_500_000


@with_tpch
@pytest.mark.parametrize(
    ("query", "directly", "least", "most"),
    [
        (tpch.q5, Q5_OF_TABLES, 0.1, 0.3),  # one region of five
        (tpch.q7, Q7_OF_TABLES, 0.01, 0.05),  # two nations of 25, two years of seven
        (tpch.band, BAND_OF_TABLES, 0.005, 0.03),
    ],
)
def test_tpch_queries_find_what_their_tables_hold(
    query: Query, directly: str, least: float, most: float, tables: Path
) -> None:
    workload = query(scale_factor=SCALE_FACTOR, batches=7, directory=tables)
    found = answer(workload, workload.expected_on or workload.on, workload.window_seconds)
    assert found.column_names == list(workload.output_names)
    assert found.num_rows == counted(directly, tables)
    assert least < found.num_rows / counted("lineitem", tables) < most


@with_tpch
def test_tpch_band_says_the_same_in_both_forms(tables: Path) -> None:
    workload = tpch.band(scale_factor=SCALE_FACTOR, batches=7, directory=tables)
    assert workload.expected_on is not None
    order = [(name, "ascending") for name in workload.output_names]
    plain, helped = (answer(workload, on, None).sort_by(order) for on in (workload.on, workload.expected_on))
    assert plain.num_rows > 0
    assert plain.equals(helped)


@with_tpch
def test_tpch_windows_keep_a_part(tables: Path) -> None:
    workload = tpch.q5(scale_factor=SCALE_FACTOR, window_seconds=1, batches=7, directory=tables)
    windowed, whole = (answer(workload, workload.on, window).num_rows for window in (workload.window_seconds, None))
    assert 0.1 < windowed / whole < 0.5


def test_tpch_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tpch, "generator", lambda: None)
    with pytest.raises(tpch.MissingGenerator, match="pip install 'tpchgen-cli"):
        tpch.q5(directory=tmp_path).feeds[0].second(0)
