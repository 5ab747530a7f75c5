"""Predicates, selections and functions that fail while a run goes on: what the error says, and how short it is."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import braid
from braid import errors
from tests.spark.test_bad_input import Table, every_pair

LINES = 40
"""A failed run prints no more than a screen."""


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Table:
    return Table(spark, tmp_path)


def fail(table: Table, *predicates: Any, select: tuple[str, ...] = ()) -> str:
    """Run until it fails, and check that what is raised and printed is short; its text."""
    with pytest.raises(errors.PredicateError) as caught:
        table.run(*predicates, select=select)
    printed = "".join(traceback.format_exception(caught.value))
    assert "at org.apache" not in printed
    assert "Py4J" not in printed
    assert len(str(caught.value).splitlines()) <= LINES, printed
    assert len(printed.splitlines()) <= 2 * LINES, printed
    return str(caught.value)


JVM: dict[str, tuple[str, tuple[str, ...], list[str]]] = {
    "a regular expression from data": ("o.s RLIKE if(q.d = 0, '(', q.s)", (), ["Unclosed group", "RLIKE"]),
    "a URL": ("url_decode(if(q.d = 0, '%zz', q.s)) <> o.s", (), ["CANNOT_DECODE_URL", "url_decode("]),
    "a long array": ("size(array_repeat(o.v, if(q.d = 0, 2147483640, 1))) = 1", (), ["2147483640 elements"]),
    "a document": (
        "from_json(if(q.d = 0 AND o.v > 0, '{', '{\"a\": 1}'), 'a int', map('mode', 'FAILFAST')).a = 1",
        (),
        ["MALFORMED_RECORD"],
    ),
    "a Spark function in Python": ("refuses_zero(q.d, o.v)", (), ["KeyError: 'nothing'", "refuses_zero(q.d, o.v)"]),
    "a condition on one stream": ("url_decode(if(q.d = 0, '%zz', q.s)) = q.s", (), ["CANNOT_DECODE_URL"]),
    "a key": ("url_decode(if(q.d = 0, '%zz', q.s)) = o.s", (), ["CANNOT_DECODE_URL"]),
    "a selection": ("o.v > q.v", ("url_decode(if(q.d = 0, '%zz', q.s)) AS u",), ["CANNOT_DECODE_URL", "url_decode("]),
}


@pytest.mark.parametrize("case", JVM)
def test_whatever_raises_in_the_jvm_is_an_error_of_the_predicate(spark: SparkSession, table: Table, case: str) -> None:
    def refuses_zero(d: int, v: int) -> bool:
        if d == 0:
            raise KeyError("nothing")
        return v > d

    spark.udf.register("refuses_zero", refuses_zero, "boolean")
    predicate, select, causes = JVM[case]
    message = fail(table, predicate, select=select)
    fragments = ["The join of o, q failed in step 1 (Spark batch 1)", *causes, "Hint: "]
    assert all(fragment in message for fragment in fragments), message
    assert all(o < 2 and q < 12 for o, q in table.results()), "results of the failed batch were published"


def test_a_sql_predicate_is_named_with_the_first_pair_that_raises(table: Table) -> None:
    message = fail(table, "o.v / q.d > 2")
    assert "The predicate o.v / q.d > 2 was evaluated and it divided by zero" in message
    assert "The first pair that raises: o.v = 8, q.d = 0." in message


class Unprintable(Exception):
    """Neither to be printed nor to be pickled."""

    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__

    def __reduce__(self) -> Any:
        raise TypeError("no pickle")


def leave() -> None:
    sys.exit(7)


def interrupt() -> None:
    raise KeyboardInterrupt


def close() -> None:
    raise GeneratorExit


def unprintable() -> None:
    raise Unprintable


def nothing() -> None:
    return


def exit_at_once() -> None:
    os._exit(9)


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def at_zero(action: Callable[[], None]) -> Callable[[pa.Array, pa.Array], Any]:
    """A function that does something bad where it meets the zero."""

    def compares(v: pa.Array, d: pa.Array) -> Any:
        if 0 in d.to_pylist():
            action()
        return np.asarray(v) > 2 * np.asarray(d)

    return compares


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (leave, "SystemExit: 7"),
        (interrupt, "KeyboardInterrupt"),
        (close, "GeneratorExit"),
        (unprintable, "Unprintable"),
    ],
)
def test_a_function_may_raise_anything(table: Table, action: Callable[[], None], said: str) -> None:
    message = fail(table, braid.udf(at_zero(action), "o.v", "q.d"))
    assert f"The Python predicate compares raised {said}" in message
    assert "The first pair that raises: o.v = 8, q.d = 0." in message


@pytest.mark.parametrize("action", [exit_at_once, kill])
def test_a_function_that_kills_its_worker_is_named(table: Table, action: Callable[[], None]) -> None:
    message = fail(table, braid.udf(at_zero(action), "o.v", "q.d"))
    assert "A worker process died, twice, while the Python predicate compares(o.v, q.d) was evaluated." in message
    assert "Calls under way on all workers:\n  compares(o.v, q.d): " in message

    table.run(braid.udf(at_zero(nothing), "o.v", "q.d"))
    assert table.results() == every_pair(lambda o, q: o[2] > 2 * q[3])


def test_a_registered_function_that_kills_its_worker_is_an_error_of_the_predicate(
    spark: SparkSession, table: Table
) -> None:
    def kills(d: int, v: int) -> bool:
        if d == 0:
            exit_at_once()
        return v > 2 * d

    spark.udf.register("kills", kills, "boolean")
    message = fail(table, "kills(q.d, o.v)")
    assert "A worker process died, twice, while Spark evaluated a registered function." in message
    assert "  kills(q.d, o.v)" in message

    table.run("q.d <> 0 AND kills(q.d, o.v)")
    assert table.results() == every_pair(lambda o, q: q[3] != 0 and o[2] > 2 * q[3])


def test_a_selection_is_named_with_the_first_pair_that_raises(table: Table) -> None:
    message = fail(table, "o.v > q.v", select=("o.v / q.d AS x",))
    assert "The selected column x was evaluated and it divided by zero" in message
    assert "The first pair that raises: o.v = 8, q.d = 0." in message
    assert "It is `o.v` / `q.d`." in message


CORRECTED: dict[str, tuple[tuple[str, str], tuple[str, str], str, Callable[[Any, Any], bool]]] = {
    "a selection in Python": (
        ("o.v > q.v", "o.v / q.d AS x"),
        ("o.v > q.v", "try_divide(o.v, q.d) AS x"),
        "divided by zero",
        lambda o, q: o[2] > q[2],
    ),
    "a key": (
        ("CAST(q.s AS bigint) = o.v", "q.v AS x"),
        ("try_cast(q.s AS bigint) = o.v", "q.v AS x"),
        "CAST_INVALID_INPUT",
        lambda o, q: q[4].isdigit() and int(q[4]) == o[2],
    ),
    "a condition on one stream": (
        ("q.v / q.d > 1", "o.v AS x"),
        ("try_divide(q.v, q.d) > 1", "o.v AS x"),
        "divided by zero",
        lambda o, q: q[3] != 0 and q[2] / q[3] > 1,
    ),
}


@pytest.mark.parametrize("case", CORRECTED)
def test_a_correction_takes_over_the_step_that_failed(table: Table, case: str) -> None:
    (broken, selected), (corrected, selection), cause, keep = CORRECTED[case]
    assert cause in fail(table, broken, select=(selected,))
    run = table.run(corrected, select=(selection,))
    assert [step["batchId"] for step in run.recentProgress] == [1]
    assert table.results() == every_pair(keep)
    table.run(corrected, select=(selection,))
    with pytest.raises(errors.RestartError):
        table.run(broken, select=(selected,))


# Added to the event time of the second batch, but not of the first, this is beyond the last timestamp.
FAR = "INTERVAL '106732268 04:00:53.275807' DAY TO SECOND"


def test_a_key_that_raises_at_ingest_is_corrected_after_rows_were_stored_under_it(table: Table) -> None:
    message = fail(table, f"concat(o.ts + {FAR}, '') = concat(q.ts + {FAR}, '')")
    assert "overflow" in message.lower()
    assert "INTERVAL '106732268" in message
    assert table.results() == every_pair(lambda o, q: o[1] == q[1] and o[0] < 2)
    corrected = "concat(second(o.ts) DIV 2, '') = concat(second(q.ts) - 1, '')"
    for _ in range(2):
        table.run(corrected)
        old = every_pair(lambda o, q: o[1] == q[1] and o[0] < 2)
        new = every_pair(lambda o, q: o[1] // 2 == q[1] - 1 and (o[0] >= 2 or q[0] >= 12))
        assert table.results() == sorted(old + new)
