"""Conjuncts that can raise run after those written before them, and equalities that keys do not decide are checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import PredicateError
from braid.plan.expressions import Call, Expression
from braid.testing import Draft, DraftStream, InlineQuery, coalesce, constant, equal, less

COLUMNS = {"a": "int", "b": "int", "x": "double"}


def rows(stream: DraftStream, *values: tuple[Any, ...]) -> pa.Table:
    """Rows (a, b, x), all at time 0."""
    columns = [[0] * len(values), *([row[n] for row in values] for n in range(3))]
    return pa.table(
        [pa.array(c, f.type) for c, f in zip(columns, stream.schema(), strict=True)], schema=stream.schema()
    )


def two_streams() -> tuple[Draft, DraftStream, DraftStream]:
    draft = Draft()
    return draft, draft.stream("o", COLUMNS, window_us=None), draft.stream("q", COLUMNS, window_us=None)


def quotient(one: DraftStream, two: DraftStream) -> Expression:
    """`o.x / q.x > 2`."""
    return less(constant(2.0, "double"), Call("divide", (one["x"], two["x"]), "double"))


def published(draft: Draft, directory: Path, *tables: pa.Table) -> int:
    query = InlineQuery(draft.logical_plan(), str(directory))
    for batch, (stream, table) in enumerate(zip(draft.streams, tables, strict=True)):
        query.run(batch, {stream.logical.name: table})
    return query.published().num_rows


def nonzero(values: pa.Array) -> np.ndarray:
    return np.asarray(values.to_numpy() != 0)


def test_a_guard_before_a_division_is_heard(tmp_path: Path) -> None:
    draft, o, q = two_streams()
    draft.on(Call("not", (equal(q["x"], constant(0.0, "double")),), "boolean")).on(quotient(o, q))
    assert published(draft, tmp_path, rows(o, (0, 0, 9.0)), rows(q, (0, 0, 0.0), (0, 0, 3.0))) == 1


@pytest.mark.parametrize("copies", [1, 50])
def test_a_python_guard_before_a_division_is_heard(copies: int, tmp_path: Path) -> None:
    """Pair by pair, and with rows enough to compare whole tiles."""
    draft, o, q = two_streams()
    draft.on_function(nonzero, q["x"]).on(quotient(o, q))
    divisors = [(0, 0, 0.0), (0, 0, 3.0)] * copies
    assert published(draft, tmp_path, rows(o, (0, 0, 9.0)), rows(q, *divisors)) == copies


def test_a_division_without_a_guard_fails_the_step(tmp_path: Path) -> None:
    draft, o, q = two_streams()
    draft.on(quotient(o, q))
    with pytest.raises(PredicateError, match="divided by zero"):
        published(draft, tmp_path, rows(o, (0, 0, 9.0)), rows(q, (0, 0, 0.0)))


def test_a_null_key_is_not_the_value_that_stands_in_for_it(tmp_path: Path) -> None:
    """`coalesce(o.a, 0) = q.a` with q.a NULL is not true, though both have the key 0."""
    draft, o, q = two_streams()
    draft.on(equal(coalesce(o["a"], constant(0, "int")), q["a"]))
    assert published(draft, tmp_path, rows(o, (None, 0, 0.0)), rows(q, (None, 0, 0.0), (0, 0, 0.0))) == 1


def test_an_equality_that_other_streams_imply_is_still_checked(tmp_path: Path) -> None:
    """u.a = s.a = t.a is one key; t came in through r, and was never compared with u."""
    draft = Draft()
    r, u, t, s = (draft.stream(name, COLUMNS, window_us=None) for name in ("r", "u", "t", "s"))
    draft.on(equal(r["a"], u["b"])).on(equal(r["b"], t["b"])).on(equal(u["a"], s["a"])).on(equal(s["a"], t["a"]))
    tables = [rows(r, (1, 2, 0.0)), rows(u, (7, 1, 0.0)), rows(t, (8, 2, 0.0), (7, 2, 0.0)), rows(s, (7, 0, 0.0))]
    assert published(draft, tmp_path / "r first", *tables) == 1
    query = InlineQuery(draft.logical_plan(), str(tmp_path / "r last"))
    query.run(0, {"u": tables[1], "t": tables[2], "s": tables[3]})
    query.run(1, {"r": tables[0]})
    assert query.published().num_rows == 1


def test_a_conjunct_of_one_stream_guards_what_is_written_before_it(tmp_path: Path) -> None:
    draft, one, two = two_streams()
    draft.on(quotient(one, two))
    draft.on(less(constant(0.0, "double"), Call("divide", (constant(1.0, "double"), two["a"]), "double")))
    zero = rows(two, (-1, 0, 0.0), (1, 0, 2.0))
    assert published(draft, tmp_path, rows(one, (0, 0, 10.0)), zero) == 1
