"""Strings of any bytes: a string of Spark's need not be UTF-8, and is compared, grouped and sorted by its bytes."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control.ordering import Ordering
from braid.errors import PredicateError
from braid.kernels.readable import readable, shown
from braid.plan.instants import iso_time
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery
from braid.testing.drafts import ARROW_TYPES
from braid.testing.expressions import coalesce, equal, less

SECOND = 1_000_000
VALUES = [
    b"",
    b"a",
    b"\xff",
    b"\xff\xfe",
    b"\xc3",
    b"\xc3\xa9",
    b"a\xe9",
    b"\x80\x00",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
]
"""Latin-1, cut and overlong sequences, a lone surrogate, a code point beyond the last; and valid UTF-8."""

Row = tuple[int, bytes | None]


def text(values: list[bytes | None]) -> pa.Array:
    """A column of strings that nobody has checked, as Spark sends it."""
    raw = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(raw), raw.buffers()[1], raw.buffers()[2], raw.buffers()[0], raw.null_count)


def some_rows(seed: int, count: int) -> list[Row]:
    chance = random.Random(seed)
    return [(number, chance.choice([*VALUES, None])) for number in range(count)]


def table(rows: list[Row], second: int = 0) -> pa.Table:
    times = pa.array([second * SECOND] * len(rows), pa.int64()).cast(ARROW_TYPES["timestamp"])
    return pa.table({"ts": times, "id": pa.array([row[0] for row in rows]), "k": text([row[1] for row in rows])})


def two() -> tuple[Draft, Any, Any]:
    draft = Draft()
    return draft, *(draft.stream(n, {"id": "bigint", "k": "string"}, window_us=10 * SECOND) for n in ("a", "b"))


def run(logical_plan: LogicalPlan, place: Path, a: list[Row], b: list[Row]) -> list[dict[str, Any]]:
    """All results, strings as their bytes."""
    ordering = Ordering("filter-order", 0.3) if logical_plan.ordered else None
    query = InlineQuery(logical_plan, str(place), ordering=ordering)
    half = len(a) // 2
    query.run(0, {"a": table(a[:half]), "b": table(b[:half])})
    query.run(1, {"a": table(a[half:], 1), "b": table(b[half:], 1)})
    if ordering is not None:
        query.steps.flush()
    found = query.published()
    plain = [c.cast(pa.binary()) if pa.types.is_string(c.type) else c for c in found.columns]
    return pa.table(plain, names=found.column_names).to_pylist()


A, B = some_rows(1, 40), some_rows(2, 40)


def ids(found: list[dict[str, Any]]) -> list[tuple[int, int]]:
    return sorted((row["a_id"], row["b_id"]) for row in found)


def test_keys_are_equal_by_their_bytes(tmp_path: Path) -> None:
    draft, a, b = two()
    found = run(draft.on(equal(a["k"], b["k"])).logical_plan(), tmp_path, A, B)
    assert ids(found) == sorted((x, y) for x, k in A for y, m in B if k is not None and k == m)
    assert all(row["a_k"] == row["b_k"] == A[row["a_id"]][1] for row in found)


@pytest.mark.parametrize("ordered", [False, True])
def test_texts_are_compared_by_their_bytes(tmp_path: Path, ordered: bool) -> None:
    draft, a, b = two()
    draft.on(less(coalesce(a["k"], b["k"]), b["k"]))
    found = run((draft.ordered() if ordered else draft).logical_plan(), tmp_path, A, B)
    assert ids(found) == sorted((x, y) for x, k in A for y, m in B if m is not None and (m if k is None else k) < m)


def test_groups_extremes_and_distinct_rows_are_of_bytes(tmp_path: Path) -> None:
    draft, a, b = two()
    draft.aggregate([a["k"]], ("count", ()), ("min", (b["k"],)), ("max", (b["k"],)), ("count_distinct", (b["k"],)))
    newest: dict[bytes | None, tuple[Any, ...]] = {}
    for row in run(draft.logical_plan(), tmp_path / "groups", A, B):
        group, *values = row.values()
        newest[group] = tuple(values)
    others = [k for _, k in B if k is not None]
    sizes = Counter(k for _, k in A)
    expected = {k: (n * len(B), min(others), max(others), len(set(others))) for k, n in sizes.items()}
    assert newest == expected

    draft, a, b = two()
    found = run(draft.distinct(a["k"]).logical_plan(), tmp_path / "distinct", A, B)
    assert Counter(next(iter(row.values())) for row in found) == Counter({k for _, k in A})


def test_windows_of_rows_break_ties_by_bytes(tmp_path: Path) -> None:
    draft = Draft()
    for name in ("a", "b"):
        draft.stream(name, {"id": "bigint", "k": "string"}, window_us=None, window_rows=3)
    found = run(draft.ordered().logical_plan(), tmp_path, A, B)
    assert found
    late = defaultdict(list)
    for number, k in B:
        late[0 if number < len(B) // 2 else 1].append((number, k is not None, k or b""))
    # Rows of one time are ordered by their columns from left to right: the id decides.
    last = {number for number, _, _ in sorted(late[1])[-3:]} | {number for number, _, _ in sorted(late[0])[-3:]}
    assert {row["b_id"] for row in found} <= last


def test_a_function_that_decodes_them_gets_a_hint(tmp_path: Path) -> None:
    draft, a, b = two()

    def same(left: pa.Array, right: pa.Array) -> Any:
        return pa.array([x == y for x, y in zip(left.to_pylist(), right.to_pylist(), strict=True)])

    with pytest.raises(PredicateError, match="raised UnicodeDecodeError") as caught:
        run(draft.on_function(same, a["k"], b["k"]).logical_plan(), tmp_path, A, B)
    assert "array.cast(pa.binary())" in caught.value.hint


def test_values_are_readable_whatever_they_are() -> None:
    assert readable(text([b"a\xff\xc3\xa9"])[0]) == "a\\xffé"
    nested = pa.StructArray.from_arrays([text([b"\xff"]), pa.array([[1, None]])], ["s", "l"])
    assert readable(nested[0]) == "{s: \\xff, l: [1, None]}"
    assert readable(pa.array([1 << 62], pa.int64()).cast(pa.timestamp("us"))[0]) == iso_time(1 << 62)
    assert shown(text([b"\xfe" * 1000])[0]).endswith("…'")
    assert shown(pa.scalar(None, pa.string())) == "NULL"
    pairs = pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64()))
    assert readable(pairs[0]) == "{k: 1}"
