"""Several runs on one checkpoint at once, interleaved at every operation: the newest goes on, nothing is lost.

Spark's part is played here by one log for all runs: it plans a batch once, and a run whose commit is there already
reads the log anew. A run ends because it has read everything, because it was taken over, or by a crash.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from braid.control import merging
from braid.control.ordering import Ordering
from braid.errors import TakenOverError
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, Fate, InjectedCrash, InlineQuery, InterleavedFiles, ManualClock, Turns
from tests.budget import seeds
from tests.properties.cases import Case, make_case, results_of, some_exchange
from tests.recovery.many_slots import as_with_many_slots

PER_TEST = 40
SEEDS = seeds(9000, 240)


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks are enough to merge, so that few steps have old blocks to drop."""
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)


@dataclass
class SparkLog:
    """What Spark has committed, for all runs."""

    committed: int = -1

    def commit(self, batch: int) -> None:
        self.committed = max(self.committed, batch)


@dataclass
class Runs:
    """The runs of one case on one directory, and how each of them ended."""

    case: Case
    directory: str
    chance: random.Random
    log: SparkLog = field(default_factory=SparkLog)
    ends: list[str] = field(default_factory=list)

    def drive(self, give_way: Callable[[], None], fail_at: int | None = None) -> None:
        """One driver, from its start to its end."""
        files = FailingFiles(InterleavedFiles(LocalFiles(), give_way), fail_at, self.chance.choice(("before", "after")))
        try:
            self._run(files, give_way)
        except InjectedCrash:
            self.ends.append("crashed")
        except TakenOverError:
            self.ends.append("taken over")
        else:
            self.ends.append("finished")

    def _run(self, files: FailingFiles, give_way: Callable[[], None]) -> None:
        def fate(_: int) -> Fate:
            give_way()
            return "once"

        clock = ManualClock(self.case.clock_ms[0])
        ordering = Ordering("adaptive", 0.3) if self.case.logical_plan.ordered else None
        query = InlineQuery(
            self.case.logical_plan,
            self.directory,
            clock=clock,
            files=files,
            fate=fate,
            ordering=ordering,
            exchange=some_exchange(self.case.logical_plan, random.Random(self.case.seed)),
        )
        batch = self.log.committed + 1
        while batch < len(self.case.batches):
            clock.now_ms = self.case.clock_ms[batch]
            query.run(batch, self.case.tables(batch))
            give_way()
            self.log.commit(batch)
            batch = self.log.committed + 1

    def check(self) -> None:
        query = InlineQuery(self.case.logical_plan, self.directory)
        assert query.last_batch == len(self.case.batches) - 1
        assert results_of(self.case, query.published()) == self.case.expected, self.case.describe()
        assert self._late_rows() == self.case.late, "late rows were lost or kept twice"
        manifest = query.steps.manifest
        named = {block.file for block in manifest.blocks} | set(manifest.dropped)
        named |= {payload.file for payload in manifest.payloads}
        blocks = set(LocalFiles().list(f"{query.checkpoint.path}/blocks"))
        assert {block.file for block in manifest.blocks} <= blocks
        assert blocks <= named, "files that nothing names were left"
        assert LocalFiles().list(f"{self.directory}/out/_braid_staging") == []

    def _late_rows(self) -> int:
        kept = Path(self.directory, "checkpoint", "late").glob("*/*.parquet")
        return sum(pq.read_metadata(file).num_rows for file in kept)


def never_idle_case(chance: random.Random) -> Case:
    """Which rows are late must not depend on when a run started, as it does where streams fall idle."""
    while True:
        case = make_case(chance.randint(5000, 5200), small=True)
        if all(stream.idle_after_ms is None for stream in case.logical_plan.streams):
            return case


def overlap(seed: int, tmp_path: Path) -> list[str]:
    """Some runs at once, in an order by the seed; how they ended."""
    chance = random.Random(seed)
    runs = Runs(never_idle_case(chance), str(tmp_path / str(seed)), chance)
    crash = chance.random() < 0.3
    number = chance.choice((2, 2, 2, 3))
    fail = [chance.randint(1, 40) if crash else None for _ in range(number)]
    drivers = [lambda give_way, at=at, runs=runs: runs.drive(give_way, at) for at in fail]
    try:
        Turns(chance, chance.choice((1.0, 0.4, 0.1))).run(drivers)
        if "finished" not in runs.ends:  # every run crashed or gave way to one that did
            runs.drive(lambda: None)
        runs.check()
    except BaseException as error:  # also a crash that nobody expected gets the seed
        error.add_note(f"BRAID_SEED={seed}, runs ended: {runs.ends}")
        raise
    return runs.ends


@pytest.mark.parametrize("first", SEEDS[::PER_TEST])
def test_runs_that_overlap_lose_and_repeat_nothing(first: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    for seed in SEEDS[(place := SEEDS.index(first)) : place + PER_TEST]:
        with monkeypatch.context() as patch:
            if seed % 2:
                as_with_many_slots(patch, 1 + seed % 3)
            ends += overlap(seed, tmp_path)
    if len(SEEDS) >= PER_TEST:
        assert {"finished", "taken over", "crashed"} <= set(ends), "the cases do not reach what they are for"
