"""Steps without input: what waits for an idle stream is let go by the clock alone, through crashes too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from braid.control.ordering import Ordering
from braid.errors import PredicateError, RecoveryError
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery, ManualClock
from braid.testing.drafts import TIMESTAMP, Draft
from braid.testing.failing import When

SECOND = 1_000_000
IDLE_MS = 5_000


def logical_plan(ordered: bool = False) -> LogicalPlan:
    """Two streams with windows of ten seconds; the second may fall idle."""
    draft = Draft().ordered() if ordered else Draft()
    draft.stream("a", {"id": "bigint"}, window_us=10 * SECOND)
    draft.stream("b", {"id": "bigint"}, window_us=10 * SECOND, idle_after_ms=IDLE_MS)
    return draft.logical_plan()


def rows(*seconds: int) -> pa.Table:
    times = pa.array([second * SECOND for second in seconds], pa.int64()).cast(TIMESTAMP)
    return pa.table({"ts": times, "id": pa.array(seconds, pa.int64())})


def start(directory: Path, clock: ManualClock, files: FailingFiles | None = None) -> InlineQuery:
    return InlineQuery(logical_plan(), str(directory), clock=clock, files=files)


def pairs(query: InlineQuery) -> list[tuple[int, int]]:
    found = query.published()
    return list(zip(found.column("a_id").to_pylist(), found.column("b_id").to_pylist(), strict=True))


def stored(query: InlineQuery) -> int:
    return sum(block.rows for block in query.steps.manifest.blocks)


def run_until_idle(directory: Path, clock: ManualClock, files: FailingFiles | None = None) -> InlineQuery:
    """Rows of `a` go far ahead of `b`, which then says nothing: all of `a` waits for it."""
    query = start(directory, clock, files)
    query.run(0, {"a": rows(0, 1), "b": rows(0)})
    query.run(1, {"a": rows(20, 21), "b": rows()})
    query.run(2, {"a": rows(60, 61), "b": rows()})
    return query


def test_nothing_is_due_while_every_stream_is_awake(tmp_path: Path) -> None:
    query = run_until_idle(tmp_path, ManualClock())
    assert query.steps.tick() is None
    assert stored(query) == 6
    assert query.steps.manifest.step == 2


def test_a_tick_lets_go_what_waits_for_an_idle_stream(tmp_path: Path) -> None:
    clock = ManualClock()
    query = run_until_idle(tmp_path, clock)
    clock.advance(IDLE_MS)
    progress = query.steps.tick()
    assert progress is not None
    assert (progress["batchId"], progress["sparkBatchId"], progress["numInputRows"]) == (3, None, 0)
    assert progress["idle"] == ["b"]
    assert stored(query) == 2
    assert query.steps.tick() is None
    assert query.last_batch == 2
    progress = query.run(3, {"a": rows(62), "b": rows()})
    assert progress is not None
    assert (progress["batchId"], progress["sparkBatchId"]) == (4, 3)


def refuse_sixty_two(values: pa.Array) -> pa.Array:
    if 62 in values.to_pylist():
        raise LookupError("sixty-two")
    return pc.greater_equal(values, 0)


def test_errors_name_the_step_and_the_batch_of_spark(tmp_path: Path) -> None:
    """After a step without input the two numbers differ, and a message must say which one it means."""
    clock = ManualClock()
    draft = Draft()
    left = draft.stream("a", {"id": "bigint"}, window_us=10 * SECOND)
    draft.stream("b", {"id": "bigint"}, window_us=10 * SECOND, idle_after_ms=IDLE_MS)
    draft.on_function(refuse_sixty_two, left["id"])
    query = InlineQuery(draft.logical_plan(), str(tmp_path), clock=clock)
    query.run(0, {"a": rows(0), "b": rows(0)})
    query.run(1, {"a": rows(60), "b": rows()})
    clock.advance(IDLE_MS)
    assert query.steps.tick() is not None
    query.cluster.load({"a": rows(62), "b": rows(60)})
    with pytest.raises(
        PredicateError, match=r"The join of a, b failed in step 3 \(Spark batch 2\): The Python predicate"
    ):
        query.steps.run(2)
    with pytest.raises(RecoveryError, match="Spark batch 2 was read but its step 3 is not finished"):
        query.steps.flush()


def test_what_an_idle_stream_brings_too_late_is_late(tmp_path: Path) -> None:
    clock = ManualClock()
    query = run_until_idle(tmp_path, clock)
    clock.advance(IDLE_MS)
    query.steps.tick()
    progress = query.run(3, {"a": rows(), "b": rows(25, 60, 61)})
    assert progress is not None
    assert progress["lateRows"] == {"a": 0, "b": 2}
    assert query.published().num_rows == len([(0, 0), (1, 0), (60, 61), (61, 61)])


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_tick_cut_anywhere_is_finished_by_the_next_run(tmp_path: Path, moment: When) -> None:
    clock = ManualClock()
    counted = FailingFiles(LocalFiles())
    query = run_until_idle(tmp_path / "whole", clock, counted)
    before = counted.operations
    clock.advance(IDLE_MS)
    query.steps.tick()
    for point in range(before + 1, counted.operations + 1):
        clock = ManualClock()
        directory = tmp_path / f"{moment}-{point}"
        cut = run_until_idle(directory, clock, FailingFiles(LocalFiles(), point, moment))
        clock.advance(IDLE_MS)
        with pytest.raises(InjectedCrash):
            cut.steps.tick()
        again = start(directory, clock)
        again.run(3, {"a": rows(62), "b": rows(61)})
        # What was not recorded is not decided: the silence of the earlier run is none of this one.
        unfixed = moment == "before" and point == before + 1
        assert stored(again) == (8 if unfixed else 4), point
        assert again.steps.manifest.step == (3 if unfixed else 4)
        assert again.published().num_rows == len([(0, 0), (1, 0), (60, 61), (61, 61), (62, 61)])


def test_downtime_is_no_silence(tmp_path: Path) -> None:
    """The stream that was behind when a run ended has its rows joined by the next one, however long after."""
    clock = ManualClock()
    run_until_idle(tmp_path, clock)
    clock.advance(100 * IDLE_MS)
    again = start(tmp_path, clock)
    assert again.steps.tick() is None
    clock.advance(IDLE_MS - 1)
    assert again.steps.tick() is None
    progress = again.run(3, {"a": rows(), "b": rows(10, 20, 31, 61)})
    assert progress is not None
    assert (progress["idle"], progress["lateRows"]) == ([], {"a": 0, "b": 0})
    early = [(0, 0), (0, 10), (1, 0), (1, 10), (20, 10), (20, 20), (21, 20), (21, 31)]
    assert sorted(pairs(again)) == [*early, (60, 61), (61, 61)]


@pytest.mark.parametrize("ordering", [None, Ordering("sync-filter", 0.3), Ordering("filter-order", 0.3)])
def test_a_stream_with_unread_rows_is_not_idle(tmp_path: Path, ordering: Ordering | None) -> None:
    """Its source hands out a part at a time, and the first parts have no row of the stream."""
    clock = ManualClock()
    query = InlineQuery(logical_plan(ordered=ordering is not None), str(tmp_path), clock=clock, ordering=ordering)
    query.run(0, {"a": rows(0, 60), "b": rows(0)})
    for batch in (1, 2):
        clock.advance(IDLE_MS)
        progress = query.run(batch, {"a": rows(60 + batch)}, unread=["b"])
        assert progress is not None
        assert progress["idle"] == []
    clock.advance(IDLE_MS)
    progress = query.run(3, {"b": rows(1, 55, 62)})
    assert progress is not None
    assert (progress["idle"], progress["lateRows"]) == ([], {"a": 0, "b": 0})
    query.steps.flush()
    assert sorted(pairs(query)) == [(0, 0), (0, 1), (60, 55), (60, 62), (61, 55), (61, 62), (62, 55), (62, 62)]


def test_a_stream_that_returns_keeps_the_watermark_it_took_while_it_was_idle(tmp_path: Path) -> None:
    clock = ManualClock()
    query = start(tmp_path, clock)
    query.run(0, {"a": rows(0), "b": rows(0)})
    query.run(1, {"a": rows(60)})
    clock.advance(IDLE_MS)
    query.run(2, {"a": rows(90)})
    progress = query.run(3, {"a": rows(95), "b": rows(59, 60, 89)})
    assert progress is not None
    assert (progress["idle"], progress["lateRows"]) == ([], {"a": 0, "b": 1})
