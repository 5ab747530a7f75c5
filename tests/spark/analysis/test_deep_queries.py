"""Deep and wide predicates through Spark's analyzer: evaluated by Braid or by Spark, or refused with a number.

The family at sizes 50 to 5,000; what has no answer of Spark's must be an error of Braid's, raised while it is built.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

import braid
from braid import errors
from tests.oracle.feeds import at

ROW = "id bigint, ts timestamp, x bigint"
XS = (0, 3, 40)

FAMILY: dict[str, Callable[[int], str]] = {
    "sum": lambda n: f"{' + '.join(['o.x'] * n)} > q.x + {n}",
    "case": lambda n: f"CASE {' '.join(f'WHEN o.x = {i} THEN {i}' for i in range(n))} END > q.x",
    "or": lambda n: " OR ".join(f"o.x + q.x = {3 * i}" for i in range(n)),
    "in": lambda n: f"o.x + q.x IN ({', '.join(str(3 * i) for i in range(n))})",
    "parentheses": lambda n: f"{'(' * n}o.x{')' * n} > q.x",
    "functions": lambda n: f"{'abs(' * n}o.x{')' * n} > q.x",
    "not": lambda n: f"{'NOT ' * n}(o.x > q.x)",
}
MEANING: dict[str, Callable[[int, int, int], bool]] = {
    "sum": lambda n, o, q: n * o > q + n,
    "case": lambda n, o, q: o < n and o > q,
    "or": lambda n, o, q: (o + q) % 3 == 0 and (o + q) // 3 < n,
    "in": lambda n, o, q: (o + q) % 3 == 0 and (o + q) // 3 < n,
    "parentheses": lambda n, o, q: o > q,
    "functions": lambda n, o, q: o > q,
    "not": lambda n, o, q: (o > q) == (n % 2 == 0),
}
# A CASE of 1,000 branches, the most that are possible, is answered too, but Spark takes half a minute to compile it.
LARGE = [("or", 1_000), ("in", 5_000)]
NATIVE = {("sum", 50), ("case", 50), ("or", 50), ("or", 250), ("in", 50), ("in", 250), ("parentheses", 50), *LARGE}
ANSWERED = [*((kind, size) for kind in FAMILY for size in (50, 250)), *LARGE]
REFUSED = [
    ("sum", 1_000),
    ("sum", 5_000),
    ("functions", 1_000),
    ("functions", 5_000),
    ("not", 5_000),
]


@pytest.fixture(scope="module")
def static(spark: SparkSession) -> DataFrame:
    rows = [(number, at(0), x) for number, x in enumerate(XS)]
    return spark.createDataFrame(rows, ROW).cache()


def pair(left: DataFrame, right: DataFrame) -> braid.Join:
    named = (("o", left), ("q", right))
    return braid.join(*(braid.stream(name, df, time="ts", window="1 minute") for name, df in named))


@pytest.mark.parametrize(("kind", "size"), ANSWERED)
def test_deep_predicates_are_answered(
    static: DataFrame, kind: str, size: int, capsys: pytest.CaptureFixture[str]
) -> None:
    query = pair(static, static).on(FAMILY[kind](size)).select("o.x AS o", "q.x AS q")
    found = sorted(tuple(row) for row in query.batch().collect())
    assert found == sorted((o, q) for o in XS for q in XS if MEANING[kind](size, o, q))
    query.explain()
    printed = capsys.readouterr().out
    if kind in ("sum", "case") and size == 250:
        assert "then in the JVM (nested deeper than 100 levels)" in printed
    if (kind, size) in NATIVE:
        assert "in the JVM" not in printed


@pytest.mark.parametrize(("kind", "size"), REFUSED)
def test_what_is_too_deep_is_refused_while_it_is_built(static: DataFrame, kind: str, size: int) -> None:
    with pytest.raises(errors.UnsupportedExpressionError) as caught:
        pair(static, static).on(FAMILY[kind](size))
    says_what_to_do(str(caught.value))


@pytest.mark.parametrize("size", [1_000, 5_000])
def test_parentheses_are_refused_or_mean_nothing(static: DataFrame, size: int) -> None:
    """Whether Spark's parser takes them depends on its stack, and on what of it the JVM has compiled."""
    try:
        query = pair(static, static).on(FAMILY["parentheses"](size)).select("o.x AS o", "q.x AS q")
    except errors.UnsupportedExpressionError as refused:
        says_what_to_do(str(refused))
    else:
        assert {tuple(row) for row in query.batch().collect()} == {(o, q) for o in XS for q in XS if o > q}


def says_what_to_do(message: str) -> None:
    assert "too complex for Spark" in message or "levels deep, and at most 400 are possible" in message
    assert "compute a part of it as a column" in message
    assert len(message) < 1_000


def test_too_many_branches_are_refused_by_number(static: DataFrame) -> None:
    with pytest.raises(errors.UnsupportedExpressionError, match="a CASE of 5,000 branches, and at most 1,000 are"):
        pair(static, static).on(FAMILY["case"](5_000))


def test_too_many_conditions_are_refused_by_number(static: DataFrame) -> None:
    text = " AND ".join(f"o.x <> {n}" for n in range(1_001))
    with pytest.raises(errors.UnsupportedExpressionError, match="1,001 conditions joined by AND, and at most 1,000"):
        pair(static, static).on(text)


def test_a_deep_selection_is_answered(static: DataFrame) -> None:
    rows = pair(static, static).on("o.x = q.x").select(f"{' + '.join(['o.x'] * 250)} AS total").batch().collect()
    assert sorted(row["total"] for row in rows) == [250 * x for x in XS]
