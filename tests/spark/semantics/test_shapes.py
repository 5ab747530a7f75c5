"""Three and four streams in every shape and strategy."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Literal

import pytest

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import ROW, rows_of


def test_hashed_keys_survive_a_round_through_the_jvm(feed: Callable[..., Feed]) -> None:
    """The struct equality is checked in the JVM before q is looked up by the hash of another column."""
    rows = {"o": (1, at(1), "a", {"x": None}), "q": (2, at(0), "a", None), "t": (3, at(2), "b", {"x": None})}
    frames = {n: feed(n, "id bigint, ts timestamp, s string, p struct<x:int>").add(rows[n]).static for n in rows}
    query = braid.join(*(braid.stream(n, df, time="ts", window="1 minute") for n, df in frames.items()))
    query = query.on("o.s <=> q.s").on("o.p = t.p").select("o.id AS o", "q.id AS q", "t.id AS t")
    assert rows_of(query.batch()) == [(1, 2, 3)]


SHAPES = {
    "star": "a.k = b.k AND a.k = c.k",
    "chain": "a.k = b.k AND b.id = c.k",
    "cross": None,
    "mixed": "a.k = b.k AND b.k < c.k",
}


STRATEGIES = (
    braid.Partitioned(units=3),
    braid.Biclique(units=2),
    braid.Biclique(units=(1, 2, 3)),
    braid.Biclique(units=4, groups=2),
    braid.Biclique(units=2, shape="tree"),
    braid.TimeSliced(units=3, interleave=2),
    braid.AlignedRouting("2 seconds", units=3),
    braid.CoordinatedRouting(2, units=5),
)


# Every strategy with two shapes, which is every shape with four strategies: tests/properties tries all combinations.
COMBINED = [
    pytest.param(shape, strategy, id=f"{shape}-{strategy}")
    for number, strategy in enumerate(STRATEGIES)
    for shape in ([*SHAPES][number % 4], [*SHAPES][(number + 1) % 4])
]


@pytest.mark.parametrize(("shape", "strategy"), COMBINED)
def test_three_streams_in_every_shape(feed: Callable[..., Feed], shape: str, strategy: Any) -> None:
    rows = [(number, at(number % 5), number % 3) for number in range(12)]
    frames = {name: feed(name).add(*rows).static for name in "abc"}
    query = braid.join(*(braid.stream(n, df, time="ts", window="2 seconds") for n, df in frames.items()))
    query = query.select("a.id AS a", "b.id AS b", "c.id AS c").using(strategy)
    text = SHAPES[shape]
    query = query if text is None else query.on(text)
    conditions: dict[str, Callable[..., bool]] = {
        "star": lambda a, b, c: a[2] == b[2] == c[2],
        "chain": lambda a, b, c: a[2] == b[2] and b[0] == c[2],
        "cross": lambda a, b, c: True,
        "mixed": lambda a, b, c: a[2] == b[2] < c[2],
    }
    needs_key = isinstance(strategy, braid.Partitioned) or getattr(strategy, "groups", None) is not None
    if needs_key and shape != "star":
        with pytest.raises(errors.StrategyError, match="equality"):
            query.batch()
        return
    expected = [
        (a[0], b[0], c[0])
        for a, b, c in itertools.product(rows, repeat=3)
        if conditions[shape](a, b, c) and max(a[1], b[1], c[1]) - min(a[1], b[1], c[1]) <= timedelta(seconds=2)
    ]
    assert rows_of(query.batch()) == sorted(expected)


@pytest.mark.parametrize(
    "strategy",
    [
        braid.Partitioned(units=3),
        braid.Biclique(units=(2, 1, 2, 1)),
        braid.Biclique(units=(2, 1, 2, 1), shape="tree"),
        braid.TimeSliced(units=3, slices={"a": 1, "c": 2}, slicing="count", adapt="aggressive"),
        braid.AlignedRouting("1 second", units=3, master="c"),
        braid.CoordinatedRouting(3),
        braid.Auto(),
    ],
    ids=str,
)
def test_four_streams_over_several_batches(feed: Callable[..., Feed], place: Place, strategy: Any) -> None:
    feeds = {name: feed(name) for name in "abcd"}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in feeds}
    for batch in range(3):
        for position, name in enumerate(feeds):
            new = [(10 * batch + n, at(2 * batch + (n + position) % 2), n % 2) for n in range(3)]
            feeds[name].add(*new)
            rows[name] += new
    query = braid.join(
        *(braid.stream(n, f.stream, time="ts", window="2 seconds", lateness="1 minute") for n, f in feeds.items())
    ).on("a.k = b.k AND b.k = c.k AND c.k = d.k")
    place.run(query.select("a.id AS a", "b.id AS b", "c.id AS c", "d.id AS d").using(strategy))
    expected = [
        tuple(row[0] for row in combination)
        for combination in itertools.product(*rows.values())
        if len({row[2] for row in combination}) == 1
        and max(row[1] for row in combination) - min(row[1] for row in combination) <= timedelta(seconds=2)
    ]
    assert place.rows() == sorted(expected)


def test_a_tree_with_a_conjunct_of_the_jvm_continues_as_sequences_and_as_a_tree_again(
    feed: Callable[..., Feed], place: Place
) -> None:
    """`a.name LIKE ...` decides which pairs of a and b are stored."""
    feeds = {name: feed(name, f"{ROW}, name string") for name in "abc"}
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in feeds}
    shapes: tuple[Literal["tree", "sequences"], ...] = ("tree", "tree", "sequences", "tree")
    for batch, shape in enumerate(shapes):
        for position, name in enumerate(feeds):
            new = [(10 * batch + n, at(batch + n / 4), n % 2, "xy"[: (n + position) % 3]) for n in range(4)]
            feeds[name].add(*new)
            rows[name] += new
        query = braid.join(
            *(braid.stream(n, f.stream, time="ts", window="2 seconds", lateness="1 minute") for n, f in feeds.items())
        ).on("a.k = b.k AND a.name LIKE concat(b.name, '%') AND b.k = c.k")
        query = query.select("a.id AS a", "b.id AS b", "c.id AS c").using(braid.Biclique(units=2, shape=shape))
        run = place.run(query)
        expected = [
            tuple(row[0] for row in (a, b, c))
            for a, b, c in itertools.product(*rows.values())
            if a[2] == b[2] == c[2]
            and a[3].startswith(b[3])
            and max(a[1], b[1], c[1]) - min(a[1], b[1], c[1]) <= timedelta(seconds=2)
        ]
        assert place.rows() == sorted(expected)
        stored = sum(len(kept) for kept in rows.values())
        assert run.lastProgress is not None
        assert (run.lastProgress["stateRows"] > stored) == (shape == "tree")
