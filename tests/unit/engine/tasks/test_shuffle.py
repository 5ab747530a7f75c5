"""Rows sent through a shuffle: each arrives once, whichever attempts of the ingest tasks the slots read."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.commands import IngestCommand
from braid.engine.locations import Locations
from braid.engine.reports import IngestReport, read_reports
from braid.engine.row_ids import RowIds
from braid.engine.tasks import shuffle
from braid.engine.tasks.segments import Begin, SegmentStore
from braid.engine.tasks.shuffle import REPORT, ROWS, SLOT, ShuffleTask, send_rows, store_rows
from braid.engine.tasks.task import Task
from braid.errors import PredicateError
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy
from braid.placement.units import slot_of, units_of
from braid.plan.join import JoinPlan
from braid.state.blocks import BlockReader
from braid.state.files import LocalFiles
from braid.state.usage import Meter
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal
from braid.testing.inline_shuffle import pieces_of, reordered

SLOTS, TASKS, ROWS_PER_TASK = 3, 2, 200
STRATEGIES: list[tuple[Strategy, int]] = [
    (Partitioned(7), 1),
    (Biclique((5, 2)), 1),
    (Biclique((6, 2), (2, 2)), 1),
    (Matrix(2, 3), 3),
    (AlignedRouting("1 us", 3, "b"), 3),
    (CoordinatedRouting(2, 5), 2),
]


def plan() -> JoinPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint", "s": "string"}, window_us=10) for name in "ab")
    return build_plan(draft.on(equal(a["k"], b["k"])).logical_plan())


def some_rows(task: int) -> pa.Table:
    """Rows of which some are equal, some late, and some have no key."""
    chance = np.random.default_rng(task)
    keys = chance.integers(0, 9, ROWS_PER_TASK)
    times = pa.array(chance.integers(0, 40, ROWS_PER_TASK)).cast(pa.timestamp("us", "UTC"))
    texts = [f"é{n}" if n % 5 else None for n in chance.integers(0, 20, ROWS_PER_TASK)]
    columns = {"a.ts": times, "a.k": pa.array(keys, mask=keys == 8), "a.s": pa.array(texts)}
    return pa.table(columns)


def own_task(directory: Path, strategy: Strategy, task: int, attempt: int = 0) -> ShuffleTask:
    layout = strategy.layout(plan(), SLOTS)
    command = IngestCommand(4, "run", (5, None), layout, (None, None), RowIds(0, TASKS))
    return ShuffleTask(plan(), 0, Locations(str(directory), "", "none"), SLOTS, command, Task(task, attempt), Meter())


def sent(own: ShuffleTask, rows: pa.Table, size: int) -> pa.Table:
    return pa.Table.from_batches(send_rows(own, iter(rows.to_batches(max_chunksize=size))))


def stored_rows(directory: Path, reports: list[IngestReport]) -> Counter[tuple[Any, ...]]:
    """The rows in the blocks that the reports name; a block has rows of its own units only."""
    found: Counter[tuple[Any, ...]] = Counter()
    for report in reports:
        if report.block is not None:
            path = f"{directory}/blocks/{report.block.file}"
            reader = BlockReader(LocalFiles().map(path), path)
            assert report.units is not None
            assert {segment.unit for segment in reader.segments} <= set(report.units)
            for segment in reader.segments:
                batch = reader.batch(segment).select(["a.ts", "a.k", "a.s"])
                found.update(tuple(row.values()) for row in batch.to_pylist())
    return found


@pytest.mark.parametrize(("strategy", "copies"), STRATEGIES, ids=lambda value: str(value))
@pytest.mark.parametrize("seed", range(3))
def test_every_row_arrives_once_whichever_attempts_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, strategy: Strategy, copies: int, seed: int
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(shuffle, "PIECE_BYTES", chance.choice((50, 400, 1 << 16)))
    attempts = []
    for task in range(TASKS):
        first = sent(own_task(tmp_path, strategy, task, 1), some_rows(task), 50)
        second = sent(own_task(tmp_path, strategy, task, 2), reordered(some_rows(task), chance), chance.randint(1, 90))
        attempts.append([first, second])
    texts = []
    for slot in range(SLOTS):
        own = own_task(tmp_path, strategy, slot, 3)
        texts += list(store_rows(own, iter(pieces_of(slot, attempts, chance))))
    reports = read_reports(IngestReport, texts)
    every = pa.concat_tables([some_rows(task) for task in range(TASKS)]).to_pylist()
    late = [row for row in every if row["a.ts"].microsecond < 5]
    kept = Counter(tuple(row.values()) for row in every if row not in late and row["a.k"] is not None)
    assert stored_rows(tmp_path, reports) == Counter({row: count * copies for row, count in kept.items()})
    assert sum(report.rows for report in reports) == TASKS * ROWS_PER_TASK
    assert sum(report.late_rows for report in reports) == len(late) > 0
    assert sum(report.kept for report in reports) == kept.total()
    assert len({report.late_file for report in reports} - {None}) == TASKS, "one attempt of each task is reported"


def test_pieces_are_bounded_and_go_to_the_slots_of_their_units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "PIECE_BYTES", 300)
    own = own_task(tmp_path, Biclique((5, 2)), 1)
    table = sent(own, some_rows(1), ROWS_PER_TASK)
    assert table.column(REPORT).null_count == table.num_rows - 1
    units = {unit.number: slot_of(unit, SLOTS) for unit in units_of(own.command.layout, 2)}
    pieces = [row for row in table.to_pylist() if row[ROWS] is not None]
    assert len(pieces) > SLOTS
    for piece in pieces:
        batch = pa.ipc.open_stream(piece[ROWS]).read_next_batch()
        assert {units[unit] for unit in batch.column(shuffle.UNITS).to_pylist()} == {piece[SLOT]}
        assert batch.num_rows < 30


def test_a_failure_of_either_task_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise PredicateError("no")

    own = own_task(tmp_path, Partitioned(2), 0)
    pieces = sent(own, some_rows(0), 50).to_batches()
    monkeypatch.setattr(shuffle, "sorted_segments", fail)
    with pytest.raises(PredicateError, match="no"):
        read_reports(IngestReport, store_rows(own, iter(pieces)))
    monkeypatch.setattr(shuffle, "placed_rows", fail)
    failed = sent(own_task(tmp_path, Partitioned(2), 0, attempt=1), some_rows(0), 50).to_batches()
    with pytest.raises(PredicateError, match="no"):
        read_reports(IngestReport, store_rows(own, iter(failed)))


def test_a_task_without_pieces_reports_what_it_used(tmp_path: Path) -> None:
    (report,) = read_reports(IngestReport, store_rows(own_task(tmp_path, Partitioned(2), 0), iter(())))
    assert (report.block, report.rows) == (None, 0)
    assert report.usage.seconds > 0


def test_rows_that_other_slots_sent_count_as_moved(tmp_path: Path) -> None:
    table = sent(own_task(tmp_path, Partitioned(7), 1), some_rows(1), ROWS_PER_TASK)
    for slot in range(SLOTS):
        pieces = table.filter(pa.compute.equal(table.column(SLOT), slot))
        size = sum(len(data) for data in pieces.column(ROWS).to_pylist() if data is not None)
        own = own_task(tmp_path, Partitioned(7), slot)
        reports = read_reports(IngestReport, store_rows(own, iter(pieces.to_batches())))
        assert sum(report.usage.moved_bytes for report in reports) == (0 if slot == 1 else size)


@pytest.mark.parametrize("slots", [2, 8])
def test_a_slot_opens_only_its_own_blocks_of_a_step_where_routes_stay_local(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    opened: list[set[str]] = []
    plain_use, plain_reader = SegmentStore.use, SegmentStore.reader

    def use(store: SegmentStore, files: Any, step: int, begin: Begin = "as it is") -> None:
        opened.append(set())
        plain_use(store, files, step, begin)

    def reader(store: SegmentStore, file: str) -> BlockReader:
        opened[-1].add(file)
        return plain_reader(store, file)

    monkeypatch.setattr(SegmentStore, "use", use)
    monkeypatch.setattr(SegmentStore, "reader", reader)
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "ab")
    logical_plan = draft.on(equal(a["k"], b["k"])).logical_plan()
    query = InlineQuery(logical_plan, str(tmp_path), strategy=Partitioned(slots), slots=slots, exchange="shuffle")
    times = pa.array(range(300)).cast(pa.timestamp("us", "UTC"))
    table = pa.table({"ts": times, "k": pa.array(range(300))})
    progress = query.run(0, {"a": table, "b": table})
    assert progress is not None
    assert progress["numOutputRows"] == 300
    assert max(len(files) for files in opened) == 2, "a block for each stream"
    assert len({file for files in opened for file in files}) == 2 * slots


@pytest.mark.parametrize("later", [1, 2, 5])
def test_the_slots_may_change_while_the_partitions_of_the_shuffle_stay(tmp_path: Path, later: int) -> None:
    """As in an elastic run, whose streaming plan is fixed while cores come and go."""
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint"}, window_us=None) for name in "ab")
    logical_plan = draft.on(equal(a["k"], b["k"])).logical_plan()
    query = InlineQuery(logical_plan, str(tmp_path), strategy=Biclique((4, 6), (2, 3)), slots=3, exchange="shuffle")
    for batch in range(3):
        times = pa.array(range(batch * 10, batch * 10 + 10)).cast(pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times, "k": pa.array(range(10))})
        progress = query.run(batch, {"a": table, "b": table})
        assert progress is not None
        assert progress["numOutputRows"] == 10 * (2 * batch + 1)
        query.cluster.slots = later
