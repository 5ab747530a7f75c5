"""Steps without input: what waits for an idle stream is let go by the clock alone, through crashes too."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from braid.plan.question import Question
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery, ManualClock
from braid.testing.questions import TIMESTAMP, Draft

SECOND = 1_000_000
IDLE_MS = 5_000


def question() -> Question:
    """Two streams with windows of ten seconds; the second may fall idle."""
    draft = Draft()
    draft.stream("a", {"id": "bigint"}, window_us=10 * SECOND)
    draft.stream("b", {"id": "bigint"}, window_us=10 * SECOND, idle_after_ms=IDLE_MS)
    return draft.question()


def rows(*seconds: int) -> pa.Table:
    times = pa.array([second * SECOND for second in seconds], pa.int64()).cast(TIMESTAMP)
    return pa.table({"ts": times, "id": pa.array(seconds, pa.int64())})


def start(directory: Path, clock: ManualClock, files: FailingFiles | None = None) -> InlineQuery:
    return InlineQuery(question(), str(directory), clock=clock, files=files)


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
    assert (progress["batchId"], progress["numInputRows"], progress["idle"]) == (3, 0, ["b"])
    assert stored(query) == 2
    assert query.steps.tick() is None
    assert query.last_batch == 2


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
def test_a_tick_cut_anywhere_is_finished_by_the_next_run(tmp_path: Path, moment: str) -> None:
    clock = ManualClock()
    counted = FailingFiles(LocalFiles())
    query = run_until_idle(tmp_path / "whole", clock, counted)
    before = counted.operations
    clock.advance(IDLE_MS)
    query.steps.tick()
    for point in range(before + 1, counted.operations + 1):
        clock = ManualClock()
        directory = tmp_path / f"{moment}-{point}"
        cut = run_until_idle(directory, clock, FailingFiles(LocalFiles(), point, moment))  # type: ignore[arg-type]
        clock.advance(IDLE_MS)
        with pytest.raises(InjectedCrash):
            cut.steps.tick()
        again = start(directory, clock)
        again.run(3, {"a": rows(62), "b": rows(61)})
        assert stored(again) == 4, point
        unfixed = moment == "before" and point == before + 1
        assert again.steps.manifest.step == (3 if unfixed else 4)
        assert again.published().num_rows == len([(0, 0), (1, 0), (60, 61), (61, 61), (62, 61)])
