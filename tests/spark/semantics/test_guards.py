"""Predicates that raise: guards are decided first, and what remains fails the run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import braid
from braid import errors
from tests.oracle.feeds import Feed, Place, at
from tests.spark.semantics.pairs import pair, rows_of


def test_a_guard_works_wherever_it_stands(feed: Callable[..., Feed]) -> None:
    orders = feed("o").add((1, at(0), 6), (2, at(0), 1))
    quotes = feed("q").add((1, at(0), 2), (2, at(0), 0), (3, at(0), None))
    query = pair(orders.static, quotes.static)
    assert rows_of(query.on("q.k <> 0 AND o.k / q.k > 2").batch()) == [(1, 1)]
    assert rows_of(query.on("o.k / q.k > 2 AND q.k <> 0").batch()) == [(1, 1)]
    assert rows_of(query.on("o.k > q.k").on("o.k / nullif(q.k, 0) > 2").batch()) == [(1, 1)]


def test_pairs_outside_the_window_never_raise(feed: Callable[..., Feed]) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)), feed("q").add((1, at(10), 2), (2, at(10.000001), 0))
    assert rows_of(pair(orders.static, quotes.static).on("o.k / q.k > 2").batch()) == [(1, 1)]


@pytest.mark.parametrize("order", ["oqt", "qto", "toq"])
def test_a_guard_on_a_third_stream_is_decided_first(feed: Callable[..., Feed], order: str) -> None:
    """`every conjunct that cannot raise is true` before one that can: also when it waits for another stream.

    The last stream of the order brings the newest rows, so it looks the others up, the first of them first.
    """
    rows = {"o": [(1, at(0), 6)], "q": [(1, at(0), 2), (2, at(0), 0)], "t": [(1, at(0), 1), (2, at(0), 5)]}
    frames = {name: feed(name).add(*rows[name]).static for name in order}
    query = braid.join(*(braid.stream(name, df, time="ts", window="1 second") for name, df in frames.items()))
    query = query.select("o.id AS o", "q.id AS q", "t.id AS t")
    assert rows_of(query.on("q.id = t.id AND t.k < 3 AND o.k / q.k > 2").batch()) == [(1, 1, 1)]
    assert rows_of(query.on("t.k + q.k = 3 AND o.k / q.k > 2").batch()) == [(1, 1, 1)]


def test_an_error_that_remains_fails_the_run(feed: Callable[..., Feed], place: Place) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)).add((2, at(1), 8)), feed("q").add((1, at(0), 2)).add((2, at(1), 0))
    query = pair(orders.stream, quotes.stream)
    run = place.start(query.on("o.k / q.k > 2"))
    with pytest.raises(errors.PredicateError, match=r"o, q.*step 1") as caught:
        run.awaitTermination()
    assert "DIVIDE_BY_ZERO" in str(caught.value) or "zero" in str(caught.value).lower()
    assert isinstance(run.exception(), errors.PredicateError)
    assert place.rows() == [(1, 1)]


def broken(*_: Any) -> Any:
    raise ValueError("the model is not loaded")


def short(left: Any, _: Any) -> Any:
    return [True] * (len(left) + 1)


@pytest.mark.parametrize(("function", "message"), [(broken, "the model is not loaded"), (short, "short")])
def test_a_python_predicate_that_fails_says_so(feed: Callable[..., Feed], function: Any, message: str) -> None:
    orders, quotes = feed("o").add((1, at(0), 6)), feed("q").add((1, at(0), 2))
    with pytest.raises(errors.PredicateError, match=message):
        pair(orders.static, quotes.static).on(braid.udf(function, "o.k", "q.k")).batch()
