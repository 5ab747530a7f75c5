"""What a step says it used: requests against a count at the storage, moved bytes against the files themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control.ordering import Ordering
from braid.engine.tasks.task import writing_slot
from braid.optimizer.strategies import AlignedRouting, Biclique, Matrix, Partitioned, Strategy
from braid.placement.units import slot_of, units_of
from braid.plan.logical import LogicalPlan
from braid.state.blocks import BlockReader
from braid.state.files import LocalFiles
from braid.testing import Draft, FailingFiles, InjectedCrash, InlineQuery, ManualClock
from braid.testing.expressions import equal

READS, WRITES = (
    ("read", "map", "open_input", "exists", "list"),
    ("open_output", "rename", "delete", "delete_tree", "make_directory"),
)
SECOND = 1_000_000
STRATEGIES: dict[str, Strategy] = {
    "partitioned": Partitioned(),
    "random": Biclique(routing="random"),
    "contrand": Biclique(routing="contrand"),
    "matrix": Matrix(2, 2),
    "aligned": AlignedRouting("1 second", 3),
}


def logical_plan(*, ordered: bool = False, summed: bool = False) -> LogicalPlan:
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=3 * SECOND, idle_after_ms=500) for name in "rs")
    draft.on(equal(r["k"], s["k"]))
    if summed:
        draft.aggregate([r["k"]], ("count", ()))
    if ordered:
        draft.ordered()
    return draft.logical_plan()


def tables(step: int, rows: int = 200) -> dict[str, pa.Table]:
    chance = np.random.default_rng(step)
    times = np.sort(chance.integers(step * SECOND, (step + 1) * SECOND, rows))
    return {
        name: pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": chance.integers(0, 50, rows)})
        for name in "rs"
    }


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Every operation on storage, counted at its entry, whoever calls it."""
    counted = dict.fromkeys((*READS, *WRITES, "record bytes"), 0)

    def watch(name: str) -> None:
        function = getattr(LocalFiles, name)

        def called(*arguments: Any) -> Any:
            counted[name] += 1
            return function(*arguments)

        monkeypatch.setattr(LocalFiles, name, called)

    for name in (*READS, *WRITES):
        watch(name)
    create = LocalFiles.write_new

    def created(files: LocalFiles, path: str, data: bytes) -> None:
        counted["record bytes"] += len(data)
        create(files, path, data)

    monkeypatch.setattr(LocalFiles, "write_new", created)
    return counted


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("summed", [False, True])
def test_every_request_of_a_step_is_in_its_progress(
    tmp_path: Path, requests: dict[str, int], ordered: bool, summed: bool
) -> None:
    clock = ManualClock(0)
    plan, ordering = logical_plan(ordered=ordered, summed=summed), Ordering("filter-order", 0.3) if ordered else None
    query = InlineQuery(plan, str(tmp_path), slots=3, ingest_tasks=2, clock=clock, ordering=ordering)

    def compare(progress: dict[str, Any] | None) -> None:
        assert progress is not None
        assert progress["storeReads"] == sum(requests[name] for name in READS)
        assert progress["storeWrites"] == sum(requests[name] for name in WRITES)
        assert progress["recordBytes"] == requests["record bytes"] > 0
        requests.update(dict.fromkeys(requests, 0))

    requests.update(dict.fromkeys(requests, 0))
    for step in range(8):
        compare(query.run(step, tables(step) if step < 6 else {"r": tables(step)["r"]}))
        clock.advance(1000)
    requests.update(dict.fromkeys(requests, 0))
    compare(query.steps.tick())


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("slots", [1, 2, 4])
def test_moved_bytes_are_those_of_segments_that_another_slot_wrote(tmp_path: Path, name: str, slots: int) -> None:
    strategy = STRATEGIES[name]
    query = InlineQuery(logical_plan(), str(tmp_path), strategy=strategy, slots=slots, ingest_tasks=4)
    query.run(0, tables(0))
    progress = query.run(1, tables(1))
    assert progress is not None
    # The ingest files of a step are deleted one step later.
    layout = query.steps.manifest.layout
    slot_of_unit = {unit.number: slot_of(unit, slots) for unit in units_of(layout, 2)}
    sides = {unit.number: unit.streams for unit in units_of(layout, 2)}
    expected = reads = 0
    for file in (file for file in query.steps.manifest.dropped if int(file.split("-")[1]) == 1):
        path = f"{query.checkpoint.path}/blocks/{file}"
        for segment in BlockReader(LocalFiles().map(path), path).segments:
            stream = int(file.split("-")[2])
            # Rows go to the slot that stores them, and to every slot with a unit of the other stream and their route.
            visited = {slot_of_unit[segment.unit]}
            visited |= {
                slot_of(unit, slots)
                for unit in units_of(layout, 2)
                if segment.route in unit.routes and 1 - stream in sides[unit.number]
            }
            reads += len(visited)
            expected += segment.length * len(visited - {writing_slot(file, slots)})
    assert progress["bytesMoved"] == expected
    assert (expected == 0) == (slots == 1)
    assert progress["segmentReads"]["total"] >= reads
    assert progress["segmentReads"]["total"] / slots <= progress["segmentReads"]["largestSlot"]


def test_a_replayed_step_reports_what_its_ingest_used(tmp_path: Path) -> None:
    def run(files: FailingFiles) -> dict[str, Any] | None:
        return InlineQuery(logical_plan(), str(tmp_path), files=files).run(0, tables(0))

    counting = FailingFiles(LocalFiles())
    InlineQuery(logical_plan(), f"{tmp_path}/other", files=counting).run(0, tables(0))
    manifest = next(n for n, line in enumerate(counting.log, 1) if "/manifests/" in line)
    failing = FailingFiles(LocalFiles(), manifest, "before")
    with pytest.raises(InjectedCrash):
        run(failing)
    again = InlineQuery(logical_plan(), str(tmp_path))
    delta = again.checkpoint.read_delta(None)
    assert delta is not None
    progress = again.run(0, {})
    assert progress is not None
    assert progress["ingestCpuSeconds"] == {n: round(u.cpu, 6) for n, u in zip("rs", delta.ingest, strict=True)}
    assert progress["cpuSeconds"]["ingest"] == pytest.approx(sum(usage.cpu for usage in delta.ingest), abs=1e-6)
    assert progress["cpuSeconds"]["ingest"] > 0
