"""Queries run without Spark: progress, late rows, and what only the JVM could evaluate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from braid.errors import UnsupportedExpressionError
from braid.state.files import LocalFiles
from braid.testing import (
    Draft,
    InlineQuery,
    equal,
)


def test_what_needs_the_jvm_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=None) for name in ("a", "b"))
    logical_plan = draft.on(equal(a["k"], b["k"])).logical_plan()
    opaque = replace(logical_plan.conjuncts[0], written="a.k RLIKE b.k", expression=None, equality=None)
    with pytest.raises(UnsupportedExpressionError, match="need the JVM"):
        InlineQuery(replace(logical_plan, conjuncts=(opaque,)), str(tmp_path))


def test_progress_and_late_rows_of_an_inline_query(tmp_path: Path) -> None:
    draft = Draft()
    a = draft.stream("a", {"k": "int"}, window_us=10, lateness_us=0)
    draft.stream("b", {"k": "int"}, window_us=10, lateness_us=0)
    table = pa.table({"ts": [5, 1], "k": [1, 1]}).cast(a.schema())
    query = InlineQuery(draft.logical_plan(), str(tmp_path))
    first = query.run(0, {"a": table})
    second = query.run(1, {"a": table, "b": table})
    assert first is not None
    assert second is not None
    assert (first["lateRows"], second["lateRows"]) == ({"a": 0, "b": 0}, {"a": 1, "b": 0})
    assert (first["numOutputRows"], second["numOutputRows"]) == (0, 6)
    assert query.run(1, {}) is None
    assert len(LocalFiles().list(f"{query.checkpoint.path}/late/a")) == 1
