"""The kit itself: an oracle worth trusting, files that fail where they are told to, honest refusals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from braid.errors import UnsupportedExpressionError
from braid.state.files import LocalFiles
from braid.testing import (
    Condition,
    Draft,
    FailingFiles,
    InjectedCrash,
    InlineQuery,
    ManualClock,
    OracleStream,
    answer,
    equal,
    on_time_rows,
)


def row(ts: int | None, k: int | None) -> dict[str, int | None]:
    return {"ts": ts, "k": k}


def test_the_oracle_by_hand() -> None:
    streams = (OracleStream("a", 2), OracleStream("b", None))
    rows = {"a": [row(0, 1), row(5, 1), row(5, None)], "b": [row(2, 1), row(3, 1), row(3, 1)]}
    same = Condition(("a", "b"), lambda a, b: None if None in (a["k"], b["k"]) else a["k"] == b["k"])
    assert answer(streams, rows, [same]) == {(0, 1, 2, 1, 2): 1, (5, 1, 2, 1, 5): 1, (5, 1, 3, 1, 5): 2}


def test_the_oracle_knows_late_rows() -> None:
    streams = (OracleStream("a", None, lateness_us=3), OracleStream("b", None, lateness_us=None))
    batches = [{"a": [row(10, 0), row(1, 1)]}, {"a": [row(6, 2), row(7, 3), row(None, 4)], "b": [row(0, 5)]}]
    kept = on_time_rows(streams, batches)
    assert [entry["k"] for entry in kept["a"]] == [0, 1, 3]
    assert [entry["k"] for entry in kept["b"]] == [5]


def test_the_oracle_knows_idle_streams() -> None:
    streams = (OracleStream("a", None, 0, idle_after_ms=10), OracleStream("b", None, 0, idle_after_ms=10))
    batches = [{"a": [row(1, 0)], "b": [row(50, 1)]}, {"b": [row(60, 2)]}, {"a": [row(49, 3), row(60, 4)]}]

    def kept(clock: list[int], started: list[int] | None = None) -> list[int]:
        return [entry["k"] for entry in on_time_rows(streams, batches, clock, started)["a"]]

    assert kept([0, 10, 10]) == [0, 4]
    assert kept([0, 9, 9]) == [0, 3, 4]
    assert kept([0, 9, 20]) == [0, 3, 4]  # whoever brings rows is not idle
    assert kept([0, 10, 10], started=[0, 1, 1]) == [0, 3, 4]


@pytest.mark.parametrize(("when", "left"), [("before", ["a"]), ("after", ["a", "b"])])
def test_files_fail_before_or_after_an_operation_and_stay_dead(when: str, left: list[str], tmp_path: Path) -> None:
    files = FailingFiles(LocalFiles(), 2, "after" if when == "after" else "before")
    files.write_new(f"{tmp_path}/a", b"")
    with pytest.raises(InjectedCrash):
        files.write_new(f"{tmp_path}/b", b"")
    assert LocalFiles().list(str(tmp_path)) == left
    with pytest.raises(InjectedCrash):
        files.list(str(tmp_path))


def test_a_script_can_be_killed_by_its_files(tmp_path: Path) -> None:
    program = (
        "from braid.state.files import LocalFiles\n"
        "from braid.testing.failing import failing_from_environment\n"
        "files = failing_from_environment(LocalFiles())\n"
        f"[files.write_new(f'{tmp_path}/{{n}}', b'') for n in range(5)]\n"
    )
    done = subprocess.run([sys.executable, "-c", program], env={**os.environ, "BRAID_FAIL_AT": "3"}, check=False)
    assert done.returncode == -signal.SIGKILL
    assert LocalFiles().list(str(tmp_path)) == ["0", "1"]


def test_a_clock_does_not_go_back() -> None:
    clock = ManualClock(5)
    clock.advance(3)
    assert clock() == 8
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)


def test_what_needs_the_jvm_is_refused(tmp_path: Path) -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int"}, window_us=None) for name in ("a", "b"))
    logical_plan = draft.on(equal(a["k"], b["k"])).logical_plan()
    opaque = replace(logical_plan.conjuncts[0], written="a.k RLIKE b.k", expression=None, equality=None)
    with pytest.raises(UnsupportedExpressionError, match="need the JVM"):
        InlineQuery(replace(logical_plan, conjuncts=(opaque,)), str(tmp_path))


def test_an_unknown_column_or_type_mix_is_refused() -> None:
    draft = Draft()
    stream = draft.stream("a", {"k": "int"}, window_us=None)
    with pytest.raises(KeyError, match=r"it has a\.ts, a\.k"):
        stream["x"]
    with pytest.raises(TypeError, match="int and timestamp"):
        equal(stream["k"], stream["ts"])


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
