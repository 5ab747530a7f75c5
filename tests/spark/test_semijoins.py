"""Streams at sites on Spark, the sites in one process: same rows by every algorithm, counted links, restarts."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at

NAMES, SITES = "abc", ("eu", "us", "asia")
ROW = "id bigint, ts timestamp, k int, text string"
ALGORITHMS = ("SP-S", "SP-D", "SM-S1", "SM-S2", "SM-D1", "SM-D2")
BATCHES = 4


@pytest.fixture
def feeds(spark: SparkSession, tmp_path: Path) -> list[Feed]:
    return [Feed(spark, tmp_path / "input" / name, ROW) for name in NAMES]


def joined(feeds: list[Feed], strategy: object, streams: int = 3) -> braid.Join:
    made = [
        braid.stream(name, feed.stream, time="ts", window="1 minute", site=site)
        for name, feed, site in zip(NAMES[:streams], feeds, SITES, strict=False)
    ]
    condition = " AND ".join(f"{one}.k = {other}.k" for one, other in itertools.pairwise(NAMES[:streams]))
    query = braid.join(*made).on(condition).select(*(f"{name}.id AS {name}" for name in NAMES[:streams]))
    return query.using(strategy)


def add(feeds: list[Feed], batch: int) -> None:
    """Of each stream a row with a common key, and one with a key that no other stream has."""
    for number, feed in enumerate(feeds):
        feed.add((2 * batch, at(batch), 7, "x" * 50), (2 * batch + 1, at(batch), 100 + 10 * batch + number, "y" * 50))


def expected(batches: int, streams: int = 3) -> list[tuple[int, ...]]:
    return sorted(itertools.product(range(0, 2 * batches, 2), repeat=streams))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_gives_the_same_rows_and_counts_what_it_ships(
    feeds: list[Feed], place: Place, algorithm: str
) -> None:
    for batch in range(BATCHES):
        add(feeds, batch)
    run = place.run(joined(feeds, braid.Semijoin(algorithms=algorithm)))
    assert place.rows() == expected(BATCHES)
    links = [record["links"] for record in run.recentProgress]
    assert all(link for link in links), "every step ships something"
    for link in (one for step in links for one in step.values()):
        assert link["bytes"] == link["payloadBytes"] + link["framingBytes"] > 0
        assert 1 <= link["messages"] <= link["messagesModelled"]
    copies = run.lastProgress["copies"]
    assert (copies > 0) == (algorithm in ("SP-S", "SM-S1", "SM-S2")), copies


def test_a_restart_with_other_algorithms_another_network_and_another_strategy_goes_on(
    feeds: list[Feed], place: Place
) -> None:
    slow = braid.Network(braid.Link("256 kbps", "45 ms"), {("eu", "us"): braid.Link("1 Gbps", "1 ms")})
    strategies = [
        braid.Semijoin(algorithms={"a": "SM-S2", "b": ["SM-D1", "SM-D2"]}),
        braid.Auto(),
        braid.Semijoin(network=slow, optimizer="exhaustive"),
        braid.Semijoin(
            plans={
                "a": [("b", "SP-D"), ("c", "SM-S1")],
                "b": [("a", "SM-D2"), ("c", "SP-S")],
                "c": [("b", "SM-S2"), ("a", "SM-D1")],
            }
        ),
    ]
    for batch, strategy in enumerate(strategies):
        add(feeds, batch)
        place.run(joined(feeds, strategy))
        assert place.rows() == expected(batch + 1), strategy


def test_other_sites_are_refused(feeds: list[Feed], place: Place) -> None:
    add(feeds, 0)
    place.run(joined(feeds, braid.Semijoin(), streams=2))
    moved = [
        braid.stream(name, feed.stream, time="ts", window="1 minute", site="eu")
        for name, feed in zip("ab", feeds, strict=False)
    ]
    query = braid.join(*moved).on("a.k = b.k").select("a.id AS a", "b.id AS b").using(braid.Semijoin())
    with pytest.raises(errors.RestartError, match="site"):
        place.run(query)


def test_explain_has_sequences_copies_and_expected_bytes(
    feeds: list[Feed], place: Place, capsys: pytest.CaptureFixture[str]
) -> None:
    query = joined(feeds, braid.Semijoin(algorithms="SM-S2"), streams=2)
    query.explain()
    before = capsys.readouterr().out
    for text in ("a: b by SM-S2", "copy of b at eu: keys with counts", "eu -> us: expected", "guesses"):
        assert text in before
    for batch in range(3):
        add(feeds, batch)
    place.run(query).explain()
    assert "observed statistics" in capsys.readouterr().out


def test_static_streams_at_sites(spark: SparkSession) -> None:
    rows = [(number, at(number), number % 3, "t") for number in range(12)]
    frame = spark.createDataFrame(rows, ROW)
    one, other = (braid.stream(n, frame, time="ts", window="1 minute", site=s) for n, s in (("a", "eu"), ("b", "us")))
    query = braid.join(one, other).on("a.k = b.k").select("a.id AS a", "b.id AS b").using(braid.Semijoin())
    found = sorted(map(tuple, query.batch().collect()))
    assert found == sorted((a[0], b[0]) for a in rows for b in rows if a[2] == b[2])


def test_what_the_jvm_evaluates_is_refused(feeds: list[Feed]) -> None:
    one, other = (
        braid.stream(n, f.stream, time="ts", window="1 minute", site=s)
        for n, f, s in zip("ab", feeds, ("eu", "us"), strict=False)
    )
    query = braid.join(one, other).on("a.k = b.k AND soundex(a.text) = b.text").using(braid.Semijoin())
    with pytest.raises(errors.StrategyError, match="JVM"):
        query.explain()


def test_rows_stay_in_the_storage_of_their_site(feeds: list[Feed], place: Place, tmp_path: Path) -> None:
    sites = [braid.Site(name, storage=str(tmp_path / name)) for name in ("eu", "us")]

    def query(strategy: object) -> braid.Join:
        made = [
            braid.stream(name, feed.stream, time="ts", window="1 minute", site=site)
            for name, feed, site in zip("ab", feeds, sites, strict=False)
        ]
        return braid.join(*made).on("a.k = b.k").select("a.id AS a", "b.id AS b").using(strategy)

    for batch in range(2):
        add(feeds, batch)
        place.run(query(braid.Semijoin(algorithms="SM-S1")))
        assert place.rows() == expected(batch + 1, 2)
    for name in ("eu", "us"):
        assert list((tmp_path / name).glob("braid-*/*.block")), f"{name} has its rows"
    assert not list((place.checkpoint / "blocks").glob("*-c*.block")), "copies are at the sites too"
    with pytest.raises(errors.RestartError, match="storage of their own site"):
        place.run(query(braid.Auto()))


def test_storage_that_a_site_cannot_use_is_refused_before_anything_runs(
    feeds: list[Feed], place: Place, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no directory")
    sites = [braid.Site("eu", storage=str(tmp_path / "file" / "eu")), braid.Site("us")]
    made = [
        braid.stream(name, feed.stream, time="ts", window="1 minute", site=site)
        for name, feed, site in zip("ab", feeds, sites, strict=False)
    ]
    with pytest.raises(errors.StorageError, match="cannot use the storage"):
        place.run(braid.join(*made).on("a.k = b.k").using(braid.Semijoin()))
