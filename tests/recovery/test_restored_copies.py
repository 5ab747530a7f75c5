"""A checkpoint restored from an older copy while its output stayed: the results of the steps after it come once.

The input is cut into batches anew after the copy, so that the same result appears in another step than before.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from braid.errors import RecoveryError
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import Case, results_of
from tests.recovery.many_slots import as_with_many_slots
from tests.recovery.test_two_runs import never_idle_case

SEEDS = seeds(300, 24)


def run_from(case: Case, directory: Path, first: int, last: int, files: FailingFiles | None = None) -> InlineQuery:
    """One run over the batches `first` to `last`, as Spark offers them after a restart."""
    clock = ManualClock(case.clock_ms[0])
    query = InlineQuery(case.logical_plan, str(directory), clock=clock, files=files)
    for batch in range(max(first, query.last_batch + 1), last):
        clock.now_ms = case.clock_ms[batch]
        query.run(batch, case.tables(batch))
    return query


@pytest.mark.parametrize("seed", SEEDS)
def test_results_after_an_older_copy_come_once(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy may be restored several times, and the run after it may die at any write."""
    if seed % 2:
        as_with_many_slots(monkeypatch, 1 + seed % 3)
    chance = random.Random(seed)
    case = never_idle_case(chance)
    end = len(case.batches)
    copied = chance.randint(1, end - 1)
    run_from(case, tmp_path, 0, copied)
    shutil.copytree(tmp_path / "checkpoint", tmp_path / "copy")
    for _ in range(chance.randint(1, 3)):
        run_from(case, tmp_path, copied, chance.randint(copied, end))
        shutil.rmtree(tmp_path / "checkpoint")
        shutil.copytree(tmp_path / "copy", tmp_path / "checkpoint")
        if chance.random() < 0.7:
            moment = chance.choice(("before", "after"))
            try:
                run_from(case, tmp_path, copied, end, FailingFiles(LocalFiles(), chance.randint(1, 25), moment))
            except InjectedCrash:
                continue
    query = run_from(case, tmp_path, copied, end)
    assert results_of(case, query.published()) == case.expected, case.describe()


def test_a_batch_with_other_rows_than_were_committed_is_refused(tmp_path: Path) -> None:
    case = never_idle_case(random.Random(1))
    first = InlineQuery(case.logical_plan, str(tmp_path))
    first.cluster.load(case.tables(0))
    first.steps.run(0, planned="as it was")
    again = InlineQuery(case.logical_plan, str(tmp_path))
    assert again.steps.run(0, planned="as it was") is None
    with pytest.raises(RecoveryError, match="Braid read Spark batch 0 with other rows than Spark has planned"):
        again.steps.run(0, planned="planned anew")


def test_a_batch_taken_in_but_not_finished_is_compared_too(tmp_path: Path) -> None:
    case = never_idle_case(random.Random(1))
    writes = FailingFiles(LocalFiles())
    counted = InlineQuery(case.logical_plan, str(tmp_path / "counted"), files=writes)
    counted.run(0, case.tables(0))
    at = next(number for number, line in enumerate(writes.log, start=1) if "/deltas/" in line)
    dying = InlineQuery(case.logical_plan, str(tmp_path / "cut"), files=FailingFiles(LocalFiles(), at, "after"))
    dying.cluster.load(case.tables(0))
    with pytest.raises(InjectedCrash):
        dying.steps.run(0, planned="as it was")
    again = InlineQuery(case.logical_plan, str(tmp_path / "cut"))
    again.cluster.load({})
    with pytest.raises(RecoveryError, match="with other rows"):
        again.steps.run(0, planned="planned anew")
    assert again.steps.run(0, planned="as it was") is not None
