"""Whose a checkpoint is: its query record may not be missing or of another format, and binds nobody before a batch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.engine.restart.identity import identify, require_newest, settle
from braid.errors import CorruptStateError, RestartError
from braid.plan.logical import LogicalPlan
from braid.state.checkpoint import STORED, Checkpoint
from braid.state.files import LocalFiles
from braid.state.records import read_record, write_record
from braid.testing import Draft, InlineQuery, equal, less

TABLE = pa.table({"ts": pa.array([1, 2], pa.timestamp("us", "UTC")), "k": pa.array([1, 2], pa.int64())})


def logical_plan(strict: bool = False) -> LogicalPlan:
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "rs")
    return draft.on((less if strict else equal)(r["k"], s["k"])).logical_plan()


def begun(directory: Path) -> Path:
    query = InlineQuery(logical_plan(), str(directory))
    query.run(0, {"r": TABLE, "s": TABLE})
    return directory / "checkpoint"


@pytest.mark.parametrize("strict", [False, True])
def test_a_missing_query_record_is_refused(tmp_path: Path, strict: bool) -> None:
    """Also for the same query, since nobody can tell that it is."""
    checkpoint = begun(tmp_path)
    (checkpoint / "query-000000.json").unlink()
    with pytest.raises(CorruptStateError) as caught:
        InlineQuery(logical_plan(strict), str(tmp_path))
    assert "the record of its query is missing" in caught.value.message
    assert "manifests" in caught.value.message
    assert "Restore query-*.json" in caught.value.hint


@pytest.mark.parametrize("directory", STORED)
def test_any_part_of_a_begun_query_asks_for_its_record(tmp_path: Path, directory: str) -> None:
    part = tmp_path / "checkpoint" / directory
    part.mkdir(parents=True)
    (part / "0").write_bytes(b"")
    with pytest.raises(CorruptStateError, match=directory):
        InlineQuery(logical_plan(), str(tmp_path))


def test_a_checkpoint_of_another_format_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = begun(tmp_path) / "query-000000.json"
    record = read_record(LocalFiles(), str(path), "query record")
    path.unlink()
    write_record(LocalFiles(), str(path), {**record, "query": {**record["query"], "format": 1}})
    with pytest.raises(RestartError) as caught:
        InlineQuery(logical_plan(), str(tmp_path))
    assert "has format 1, and this version of Braid reads and writes format 6" in caught.value.message
    assert "a new path" in caught.value.hint


def test_a_record_beside_which_nothing_is_stored_binds_nobody(tmp_path: Path) -> None:
    """The record of a start that failed before its first batch: another query takes its place, with the same id."""
    InlineQuery(logical_plan(strict=True), str(tmp_path))
    checkpoint = Checkpoint(LocalFiles(), str(tmp_path / "checkpoint"))
    first = checkpoint.read_query()
    left = tmp_path / "checkpoint" / "spark" / "sources" / "0" / "0"
    left.parent.mkdir(parents=True)
    left.write_text("files of another query")

    query = InlineQuery(logical_plan(), str(tmp_path))
    query.run(0, {"r": TABLE, "s": TABLE})
    assert query.published().num_rows == 2
    assert not left.exists()
    now = checkpoint.read_query()
    assert first is not None
    assert now is not None
    assert now["id"] == first["id"]
    assert now["query"] != first["query"]
    with pytest.raises(RestartError, match="predicate"):
        InlineQuery(logical_plan(strict=True), str(tmp_path))


def test_the_same_start_again_writes_no_second_record(tmp_path: Path) -> None:
    for _ in range(3):
        InlineQuery(logical_plan(), str(tmp_path))
    assert [path.name for path in (tmp_path / "checkpoint").glob("query-*")] == ["query-000000.json"]


def equal_values(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.equal(a, b)


def unequal_values(a: pa.Array, b: pa.Array) -> pa.Array:
    return pc.not_equal(a, b)


def test_a_changed_function_is_accepted_by_the_option_alone_and_from_then_on(tmp_path: Path) -> None:
    unequal_values.__name__ = equal_values.__name__

    def asked(function: Callable[..., Any]) -> LogicalPlan:
        draft = Draft()
        r, s = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "rs")
        return draft.on_function(function, r["k"], s["k"]).logical_plan()

    query = InlineQuery(asked(equal_values), str(tmp_path))
    query.run(0, {"r": TABLE, "s": TABLE})
    with pytest.raises(RestartError) as caught:
        InlineQuery(asked(unequal_values), str(tmp_path))
    assert "predicate equal_values: its code has changed" in caught.value.detail
    assert "acceptChangedFunctions" in caught.value.hint

    query = InlineQuery(asked(unequal_values), str(tmp_path), accept_changed_functions=True)
    query.run(1, {"r": TABLE.slice(1, 1)})
    assert query.published().num_rows == 2 + 1  # the new row has k = 2, and meets the stored one of k = 1
    query = InlineQuery(asked(unequal_values), str(tmp_path))
    with pytest.raises(RestartError, match="its code has changed"):
        InlineQuery(asked(equal_values), str(tmp_path))


def test_the_option_accepts_no_other_change(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(RestartError, match="predicate"):
        InlineQuery(logical_plan(strict=True), str(tmp_path), accept_changed_functions=True)


def test_of_two_queries_started_at_once_only_the_newer_one_runs(tmp_path: Path) -> None:
    """The older one has written its record, but claims the checkpoint after the newer one has replaced the record."""
    checkpoint = Checkpoint(LocalFiles(), f"{tmp_path}/checkpoint")

    def find(strict: bool) -> Callable[[], Any]:
        return lambda: identify(checkpoint, logical_plan(strict), "here")

    older = settle(find(False)(), find(False), checkpoint)
    again = settle(find(False)(), find(False), checkpoint)
    require_newest(older, find(False), checkpoint)
    require_newest(again, find(False), checkpoint)
    newer = settle(find(True)(), find(True), checkpoint)
    require_newest(newer, find(True), checkpoint)
    for identity in (older, again):
        with pytest.raises(RestartError, match="another query was started on it at the same moment"):
            require_newest(identity, find(False), checkpoint)


def test_a_query_that_was_planned_for_another_record_is_not_started(tmp_path: Path) -> None:
    """While it started, a correction took the checkpoint over with other keys: its own plan has changed by that."""
    query = InlineQuery(logical_plan(), str(tmp_path))
    query.run(0, {"r": TABLE, "s": TABLE})
    checkpoint = query.checkpoint
    checkpoint.write_failure(1, "a predicate failed")
    wanted = logical_plan(strict=True)

    def find() -> Any:
        return identify(checkpoint, wanted, "here")

    mine = find()
    record = {**mine.record, "only checked": [conjunct.sql for conjunct in wanted.conjuncts]}
    checkpoint.write_query({"id": mine.id, **record}, mine.number)
    with pytest.raises(RestartError, match="another query was started on it at the same moment"):
        settle(mine, find, checkpoint)


def test_a_refused_change_says_what_may_change(tmp_path: Path) -> None:
    begun(tmp_path)
    with pytest.raises(RestartError) as caught:
        InlineQuery(logical_plan(strict=True), str(tmp_path))
    allowed, _ = caught.value.hint.split(" may change; the rest may not.")
    for name in ("Strategy", "units", "interleave", "memory limit", "policy", "trigger", "retention", "sink options"):
        assert name in allowed
