"""A real standalone cluster: an executor, a worker and the driver are killed at random instants, and nothing is lost.

The query runs continuously while files appear. An instant is the n-th file that appears in the checkpoint after some
batch: during ingest, during a lookup, between two records, or in the commit.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.budget import seeds
from tests.recovery.job import Job
from tests.recovery.scenario import BAND, Child, Reader, check_answer, feed, make_inputs
from tests.recovery.standalone import StandaloneCluster, wait_until

# One file of each stream before the first kill, and two around each.
FILES, ROWS = 7, 40
MOST_FILES_OF_A_STEP = 8


class Standing:
    """A query that runs until it is told to stop, and what its checkpoint shows of it."""

    def __init__(self, job: Job, scratch: Path, master: str) -> None:
        self.job = job
        self._scratch = scratch
        self._master = master
        self._drivers = 0
        self._reader = Reader(job)
        self.child = self.start()

    def start(self) -> Child:
        self._drivers += 1
        self.child = Child([self.job], self._scratch / f"driver-{self._drivers}", None, self._master)
        return self.child

    def files_read(self) -> int:
        """How many files of every stream are in committed batches; a batch may have one of one stream only."""
        log = Path(self.job.checkpoint) / "spark"
        committed = [int(path.name) for path in log.glob("commits/[0-9]*")]
        if not committed:
            return 0
        _, _, *sources = (log / "offsets" / str(max(committed))).read_text().splitlines()
        return min(0 if source == "-" else json.loads(source)["logOffset"] + 1 for source in sources)

    def wait(self, condition: Callable[[], object], what: str) -> None:
        def checked() -> object:
            self._reader.look()
            assert self.child.process.poll() is None, f"the driver ended\n{self.child.log()}"
            return condition()

        try:
            wait_until(checked, what)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.child.log()}") from None

    def wait_for_files(self, count: int) -> None:
        """Wait until so many files have appeared in the checkpoint from now on."""
        place = Path(self.job.checkpoint)
        known = {path for path in place.rglob("*") if path.name[0] != "."}
        appeared: set[Path] = set()

        def enough() -> bool:
            appeared.update(path for path in place.rglob("*") if path.name[0] != ".")
            return len(appeared - known) >= count

        self.wait(enough, f"{count} files in the checkpoint")

    def stop(self) -> int:
        Path(self.job.stop_file).touch()
        return self.child.wait(90, self._reader.look)


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(20_261_116, 1))
def test_executor_worker_and_driver_are_killed_and_nothing_is_lost(java: None, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    inputs = make_inputs(tmp_path / "made", seed, files=FILES, rows=ROWS)
    source, place = tmp_path / "input", tmp_path / "job"
    # On several hosts a bare path is refused; this one is shared, because all of them are this machine.
    job = Job("ab", BAND, str(source), str(place), scheme="file://", stop_file=str(tmp_path / "stop"))
    feed(inputs, source, range(1))
    kills = ["executor", "worker", "driver"]
    chance.shuffle(kills)
    with StandaloneCluster(tmp_path / "cluster", workers=2) as cluster:
        query = Standing(job, tmp_path, cluster.address)
        try:
            query.wait(lambda: query.files_read() >= 1, "the first batch")
            for fed, kill in zip(range(1, FILES, 2), kills, strict=True):
                feed(inputs, source, range(fed, fed + 2))
                query.wait_for_files(chance.randint(1, MOST_FILES_OF_A_STEP))
                if kill == "executor":
                    cluster.kill_executor(chance.randrange(2))
                elif kill == "worker":
                    cluster.kill_worker(chance.randrange(2))
                    cluster.add_worker()
                else:
                    query.child.kill()
                    query.start()
                query.wait(lambda fed=fed: query.files_read() >= fed + 2, f"the rows after the {kill} was killed")
            assert query.stop() == 0, query.child.log()
        finally:
            query.child.kill()
    check_answer(inputs, job)
    assert not [process for process in cluster.executors() if process.is_running()]
