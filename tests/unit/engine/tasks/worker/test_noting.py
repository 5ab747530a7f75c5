"""Notes of long tasks: when they are left, what they say, and that they are gone afterwards."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.tasks.worker import noting
from braid.engine.tasks.worker.noting import DIRECTORY, WorkNote, noted_shares
from braid.kernels import pacing
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Strategy, TimeSliced
from braid.state.files import LocalFiles
from braid.testing import Draft, InlineQuery, ManualClock

NAME = "0123abcd-000000000007-0-s00003-11"
RUN = "0123abcd9999"


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(noting, "time", clock)
    return clock


def names(checkpoint: Path) -> list[str]:
    return LocalFiles().list(f"{checkpoint}/{DIRECTORY}")


def test_a_task_leaves_notes_after_a_second_and_none_at_its_end(tmp_path: Path, clock: Clock) -> None:
    note = WorkNote(LocalFiles(), str(tmp_path), NAME)
    for seconds, share, expected in ((0.9, 0.1, []), (0.2, 0.25, ["250"]), (0.5, 0.3, ["250"]), (0.6, 0.4, ["400"])):
        clock.now += seconds
        note.update(lambda share=share: share)  # type: ignore[misc]  # mypy has no type for a default of a lambda
        assert names(tmp_path) == [f"{NAME}.{text}" for text in expected]
    clock.now += 2
    note.update(lambda: 0.4)
    assert names(tmp_path) == [f"{NAME}.400"], "nothing has changed"
    note.close()
    assert names(tmp_path) == []


def test_what_is_done_is_counted_only_when_a_note_is_due(tmp_path: Path, clock: Clock) -> None:
    def never() -> float:
        raise AssertionError("not due")

    note = WorkNote(LocalFiles(), str(tmp_path), NAME)
    note.update(never)
    clock.now += 100
    note.update(lambda: 0.5)
    clock.now += 4.9
    note.update(never)
    clock.now += 0.2
    note.update(lambda: 0.6)
    assert names(tmp_path) == [f"{NAME}.600"], "after a hundred seconds one in five"


def test_the_parts_of_a_task_follow_each_other(tmp_path: Path, clock: Clock) -> None:
    note = WorkNote(LocalFiles(), str(tmp_path), NAME, parts=4)
    clock.now += 2
    note.update(lambda: 0.5)
    assert names(tmp_path) == [f"{NAME}.125"]
    note.end_part()
    clock.now += 2
    note.update(lambda: 7.0)
    assert names(tmp_path) == [f"{NAME}.500"]


def test_a_note_that_cannot_be_written_harms_nobody(tmp_path: Path, clock: Clock) -> None:
    (tmp_path / DIRECTORY).write_text("in the way")
    note = WorkNote(LocalFiles(), str(tmp_path), NAME)
    clock.now += 2
    note.update(lambda: 0.5)
    note.close()


def test_the_driver_reads_the_notes_of_the_running_step(tmp_path: Path) -> None:
    assert noted_shares(LocalFiles(), str(tmp_path), RUN, 7) == {}
    left = (
        NAME + ".250",
        "0123abcd-000000000007-2.1-s00004-12.1000",
        "0123abcd-000000000007-0-s00003-9.900",  # an attempt whose worker died
        "0123abcd-000000000006-0-s00005-1.100",  # another step
        "99999999-000000000007-0-s00005-1.100",  # another run
        "0123abcd-000000000007-other",
    )
    for name in left:
        LocalFiles().write_new(f"{tmp_path}/{DIRECTORY}/{name}", b"")
    assert noted_shares(LocalFiles(), str(tmp_path), RUN, 7) == {3: 0.25, 4: 1.0}


def observed(directory: Path, seen: list[float]) -> Callable[..., Any]:
    """A function that looks at the notes of the task that calls it."""

    def passes(left: pa.Array, right: pa.Array) -> np.ndarray:
        path = directory / "checkpoint" / DIRECTORY
        seen.extend(int(name.rpartition(".")[2]) / 1000 for name in (os.listdir(path) if path.exists() else ()))
        return np.asarray((left.to_numpy() + right.to_numpy()) % 3 == 0)

    return passes


STRATEGIES = (
    TimeSliced(2),
    TimeSliced(3, interleave=2),
    Biclique(2),
    Biclique(1, shape="tree"),
    AlignedRouting("10 seconds", 2),
    CoordinatedRouting(2, 4),
)


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.describe())
def test_a_task_says_how_far_its_lookups_are(
    strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every task counts as long, and every pair as slow."""
    monkeypatch.setattr(noting, "FIRST_SECONDS", 0.0)
    monkeypatch.setattr(noting, "SHARE_OF_TIME", 0.0)
    monkeypatch.setattr(pacing, "FIRST_PAIRS", 1)
    monkeypatch.setattr(pacing, "PIECE_SECONDS", 0.0)
    pacing._pair_seconds.clear()
    seen: list[float] = []
    draft = Draft()
    made = [draft.stream(name, {"v": "bigint"}, window_us=60_000_000) for name in "abc"]
    for left, right in ((0, 1), (1, 2)):
        draft.on_function(observed(tmp_path, seen), made[left]["v"], made[right]["v"], raises=False)
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=strategy, slots=2, clock=ManualClock(0))
    for step in range(3):
        times = pa.array([1_000_000 * (6 * step + n) for n in range(6)], pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times, "v": range(6)})
        query.run(step, dict.fromkeys("abc", table))
    query.steps.tick()
    assert query.published().num_rows == 6**3 * 27 // 9
    assert len(set(seen)) > 10
    assert max(seen) > 0.9
    assert all(0 <= share <= 1 for share in seen)
    falls = sum(later < earlier for earlier, later in pairwise(seen))
    assert falls < 40, "a fall is the beginning of a task"
    assert names(tmp_path / "checkpoint") == []
    pacing._pair_seconds.clear()
