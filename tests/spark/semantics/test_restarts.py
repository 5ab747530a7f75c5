"""What may change at a restart."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import ALL_OF_TWO, equal_keys, pair


def test_a_changed_query_is_refused_with_the_difference(
    two: tuple[Feed, Feed], feed: Callable[..., Feed], place: Place
) -> None:
    place.run(equal_keys(two))
    orders, quotes = two[0].stream, two[1].stream
    wider = feed("wide", "id bigint, ts timestamp, k bigint").stream
    renamed = braid.join(
        braid.stream("o", orders, time="ts", window="10 seconds"),
        braid.stream("p", quotes, time="ts", window="10 seconds"),
    )
    changes: dict[str, tuple[braid.Join, str]] = {
        "predicate": (pair(orders, quotes).on("o.k >= q.k"), "o.k >= q.k"),
        "more predicates": (equal_keys(two).on("o.id = 1"), "o.id = 1"),
        "window": (pair(orders, quotes, "11 seconds").on("o.k = q.k"), "window"),
        "window kind": (pair(orders, quotes, braid.unbounded).on("o.k = q.k"), "window"),
        "lateness": (pair(orders, quotes, lateness="1 second").on("o.k = q.k"), "lateness"),
        "column type": (pair(wider, quotes).on("o.k = q.k"), "bigint"),
        "stream": (renamed.on("o.k = p.k").select("o.id AS o", "p.id AS q"), "p"),
        "selection": (equal_keys(two).select("o.id AS o"), "q"),
    }
    for what, (query, word) in changes.items():
        with pytest.raises(errors.RestartError) as caught:
            place.start(query)
        assert word in caught.value.detail, f"{what}: {caught.value.detail}"
    place.run(equal_keys(two))
    assert place.rows() == ALL_OF_TWO


def test_settings_that_change_meaning_are_refused_too(
    two: tuple[Feed, Feed], place: Place, settings: Callable[[str, str], None]
) -> None:
    place.run(equal_keys(two))
    settings("spark.sql.ansi.enabled", "false")
    with pytest.raises(errors.RestartError, match="ANSI"):
        place.start(equal_keys(two))


def test_strategy_and_units_may_change_at_every_restart(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o"), feed("q")
    strategies = (
        braid.Partitioned(units=2),
        braid.Biclique(units=(1, 3)),
        braid.Biclique(units=4, groups=2),
        braid.TimeSliced(units=3),
        braid.Matrix(2, 3),
        braid.TimeSliced(units=2, slices={"o": 1, "q": 4}, slicing="count", adapt="aggressive"),
        braid.TimeSliced(units=2, interleave=3),
        braid.AlignedRouting("3 seconds", units=3),
        braid.CoordinatedRouting(2),
        braid.Matrix(3, 2),
        braid.AlignedRouting("20 seconds", units=2, master="q"),
        braid.Partitioned(units=5),
        braid.Auto(),
    )
    for number, strategy in enumerate(strategies):
        orders.add(*((10 * number + n, at(number), n) for n in range(3)))
        quotes.add(*((10 * number + n, at(number), n) for n in range(3)))
        place.run(pair(orders.stream, quotes.stream, "1 minute").on("o.k = q.k").using(strategy))
    ids = range(len(strategies))
    assert place.rows() == sorted((10 * i + n, 10 * j + n) for i in ids for j in ids for n in range(3))
