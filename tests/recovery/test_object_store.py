"""The engine on an S3 object store: crashes, torn moves, damage and refusals, without Spark.

Spark's part is played here: after a crash the last batch is offered again, whether or not it was committed.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import pytest

from braid.control import merging
from braid.engine.locations import Locations
from braid.engine.restart.consistency import claim_for
from braid.engine.sinks import STAGING, FileSink
from braid.engine.step import StepRunner
from braid.errors import CorruptStateError, StorageError, StorageWarning, TakenOverError
from braid.optimizer.build import build_plan
from braid.optimizer.exchange import choose_exchange
from braid.optimizer.strategies import Auto
from braid.state.checkpoint import Checkpoint
from braid.state.files import ArrowFiles, locate
from braid.state.object_stores import exclusive
from braid.testing import FailingFiles, InjectedCrash, InlineCluster, ManualClock
from tests.properties.cases import Case, make_case, results_of
from tests.recovery.object_store import BUCKET, ObjectStore, key_of, names_below, read_parquet

SLOTS = 2
# Five batches, fifteen results, late rows, blocks that are merged and deleted.
SEED = 5035
MOMENTS: tuple[Literal["before", "after"], ...] = ("before", "after")
Wrap = Callable[[Any], Any]


@pytest.fixture(scope="module")
def store() -> Iterator[ObjectStore]:
    with ObjectStore() as store, pytest.MonkeyPatch.context() as patch:
        for name, value in store.environment.items():
            patch.setenv(name, value)
        yield store


@pytest.fixture(autouse=True, scope="module")
def merge_often() -> Iterator[None]:
    """Two blocks are enough to merge, so that few steps have old blocks to drop."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(merging, "FAN_IN", 2)
        patch.setattr(merging, "CLOSED_FAN_IN", 2)
        yield


@pytest.fixture(autouse=True)
def a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that has no copies of blocks yet."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "host"))


@pytest.fixture
def location() -> str:
    """A place no other test has, two levels below the bucket."""
    return f"s3://{BUCKET}/team/{uuid.uuid4().hex}"


@pytest.fixture(scope="module")
def case() -> Case:
    return make_case(SEED, small=True)


class Driver:
    """One run of a case; everything lies at the location. `wrap` changes the driver's files, tasks have their own."""

    def __init__(self, case: Case, location: str, wrap: Wrap = lambda files: files) -> None:
        self._case = case
        self._clock = ManualClock(case.clock_ms[0])
        plan = build_plan(case.logical_plan)
        found, path = locate(location)
        files = wrap(found)
        locations = Locations(f"{location}/checkpoint", f"{location}/out/{STAGING}", "snappy")
        exchange = choose_exchange("auto", plan, location, SLOTS).kind
        self._cluster = InlineCluster(case.logical_plan, plan, locations, SLOTS, exchange=exchange)
        checkpoint, sink = Checkpoint(files, f"{path}/checkpoint"), FileSink(files, f"{path}/out", "inline")
        self.steps = StepRunner(
            plan,
            checkpoint,
            self._cluster,
            sink,
            claim_for(checkpoint, sink, uuid.uuid4().hex, self._clock()),
            Auto().layout(plan, SLOTS),
            self._clock,
        )

    def run(self, until: int | None = None) -> None:
        """Every batch from the last one on, or those before `until`."""
        stop = len(self._case.batches) if until is None else until
        for batch in range(max(0, self.steps.manifest.batch), stop):
            self._clock.now_ms = self._case.clock_ms[batch]
            self._cluster.load(self._case.tables(batch))
            self.steps.run(batch)


class TornMoves(ArrowFiles):
    """The driver dies between the copy and the delete that a move is made of, when it moves from a directory."""

    def __init__(self, files: ArrowFiles, directory: str) -> None:
        super().__init__(files.filesystem, files.scheme, files.uri)
        self._directory = directory

    def rename(self, source: str, target: str) -> None:
        if f"/{self._directory}/" not in source:
            super().rename(source, target)
            return
        self.filesystem.copy_file(source, target)
        raise InjectedCrash(f"between the halves of the move of {source}")


def check(case: Case, location: str, store: ObjectStore) -> None:
    """The oracle's rows are there once, and no object that nothing names."""
    manifest = Driver(case, location).steps.manifest
    assert manifest.batch == len(case.batches) - 1
    assert results_of(case, read_parquet(f"{location}/out")) == case.expected
    named = {block.file for block in manifest.blocks} | set(manifest.dropped)
    named |= {payload.file for payload in manifest.payloads}
    assert set(names_below(store, f"{location}/checkpoint/blocks")) == named
    assert names_below(store, f"{location}/checkpoint/staging") == names_below(store, f"{location}/out/{STAGING}") == []


def test_the_answer_is_that_of_local_files(case: Case, location: str, store: ObjectStore, tmp_path: Path) -> None:
    Driver(case, location).run()
    check(case, location, store)
    assert list((tmp_path / "host").glob("braid-copies-*/*.block")), "blocks are read through copies"

    Driver(case, f"file://{tmp_path}/local").run()
    for directory in ("out", "checkpoint/late"):
        there, here = (read_parquet(f"{place}/{directory}") for place in (location, f"file://{tmp_path}/local"))
        assert Counter(map(str, there.to_pylist())) == Counter(map(str, here.to_pylist()))
    assert there.num_rows == case.late > 0


@pytest.fixture(scope="module")
def operations(case: Case, store: ObjectStore) -> list[str]:
    """What the driver does to storage in a run that nothing interrupts."""
    files = FailingFiles(locate(f"s3://{BUCKET}")[0])
    Driver(case, f"s3://{BUCKET}/counted", lambda _: files).run()
    return files.log


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize(
    "kind", ["write .*/deltas", "write .*/manifests", "rename .*/staging", f"rename .*/{STAGING}", "delete .*/deltas"]
)
def test_a_crash_loses_and_repeats_nothing(
    case: Case, location: str, store: ObjectStore, operations: list[str], kind: str, moment: Literal["before", "after"]
) -> None:
    """The driver dies at its last operation of a kind, when there is most to lose."""
    at = max(number for number, operation in enumerate(operations, start=1) if re.match(f"{kind}/", operation))
    with pytest.raises(InjectedCrash, match=kind):
        Driver(case, location, lambda files: FailingFiles(files, at, moment)).run()
    Driver(case, location).run()
    check(case, location, store)


@pytest.mark.parametrize("directory", ["checkpoint/staging", f"out/{STAGING}"])
def test_a_move_cut_in_half_is_made_again(case: Case, location: str, store: ObjectStore, directory: str) -> None:
    with pytest.raises(InjectedCrash, match=directory):
        Driver(case, location, lambda files: TornMoves(files, directory)).run()
    assert names_below(store, f"{location}/{directory}"), "the source of the copy is still there"
    Driver(case, location).run()
    check(case, location, store)


def test_the_newer_of_two_drivers_takes_over(case: Case, location: str, store: ObjectStore) -> None:
    Driver(case, location).run(until=1)
    older, newer = Driver(case, location), Driver(case, location)
    with pytest.raises(TakenOverError, match="was taken over by a newer run"):
        older.run(until=2)
    newer.run()
    check(case, location, store)


def test_of_many_writers_one_creates_a_record(location: str, store: ObjectStore) -> None:
    """Without the condition several of them find no object there, and overwrite each other's."""
    writers = [locate(location) for _ in range(8)]
    assert [files.why_not_exclusive(path) for files, path in writers] == [""] * 8
    together = threading.Barrier(8)

    def write(number: int) -> bool:
        files, path = writers[number]
        together.wait()
        try:
            files.write_new(f"{path}/record", str(number).encode())
        except FileExistsError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = [number for number, created in enumerate(pool.map(write, range(8))) if created]
    assert len(won) == 1
    assert store.read(f"{key_of(location)}/record") == str(won[0]).encode()
    assert names_below(store, location) == ["record"], "what tried the store out is gone"


def test_a_store_without_conditional_writes_is_named_at_start(
    case: Case, location: str, store: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusive, "obstore", None)
    with pytest.warns(StorageWarning, match="cannot keep two runs apart .* obstore is not installed"):
        driver = Driver(case, location)
    driver.run()
    monkeypatch.undo()
    check(case, location, store)


def test_credentials_may_be_limited_to_the_places_of_the_query(case: Case, location: str, store: ObjectStore) -> None:
    store.replace("team/", None)  # what another test may have left
    with store.denying("s3:PutObject", "team/"):
        Driver(case, location).run()
    check(case, location, store)
    assert "team/" not in store.keys("team/")


DAMAGES: dict[str, tuple[Callable[[bytes], bytes | None], str]] = {
    "no block": (lambda data: None, "is missing"),
    "half a block": (lambda data: data[: len(data) // 2], "is corrupt: it is truncated"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_can_be_repaired(
    case: Case, location: str, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    driver = Driver(case, location)
    driver.run(until=2)
    key = f"{key_of(location)}/checkpoint/blocks/{driver.steps.manifest.blocks[0].file}"
    whole = store.read(key)
    change, message = DAMAGES[damage]
    store.replace(key, change(whole))

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "another host"))
    with pytest.raises(CorruptStateError) as caught:
        Driver(case, location).run()
    assert f"The state block {BUCKET}/{key} {message}" in str(caught.value)
    assert "Hint: Restore the file from a copy of the checkpoint" in str(caught.value)

    store.replace(key, whole)
    Driver(case, location).run()
    check(case, location, store)


@pytest.mark.parametrize("place", ["checkpoint/blocks", "checkpoint/manifests", f"out/{STAGING}"])
def test_a_refused_write_is_explained_and_loses_nothing(
    case: Case, location: str, store: ObjectStore, place: str
) -> None:
    Driver(case, location).run(until=2)
    with store.denying("s3:PutObject", f"{key_of(location)}/{place}/*"), pytest.raises(StorageError) as caught:
        Driver(case, location).run()
    # To delete a file, pyarrow writes a marker of its directory.
    assert re.search(f"Could not (write|delete) {BUCKET}/{key_of(location)}/{place}/", str(caught.value))
    assert re.search("ACCESS_DENIED|403 Forbidden", str(caught.value))
    assert "Hint: Check that the storage is reachable and writable" in str(caught.value)
    Driver(case, location).run()
    check(case, location, store)


def test_a_missing_bucket_is_explained(store: ObjectStore) -> None:
    with pytest.raises(StorageError, match=r"Could not write braid-nowhere/.*NO_SUCH_BUCKET") as caught:
        Checkpoint(*locate("s3://braid-nowhere/job")).write_query({}, 0)
    assert "Hint: Check that the storage is reachable and writable" in str(caught.value)


@pytest.mark.parametrize("operation", ["list", "exists", "read", "delete", "delete_tree"])
def test_credentials_that_are_not_known_are_explained(location: str, store: ObjectStore, operation: str) -> None:
    files, path = locate(location)
    with store.knowing_nobody(), pytest.raises(StorageError, match=r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID") as caught:
        getattr(files, operation)(f"{path}/checkpoint")
    assert f"{path}/checkpoint" in str(caught.value)
    assert "Hint: Check that the storage is reachable and writable" in str(caught.value)
