"""Pushed parts and their clean-up: every result of the oracle is found once, whenever groups are pushed."""

from __future__ import annotations

import random
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control import compaction, keeping, merging
from braid.control.idleness import SourceCheck
from braid.control.memory import deferring
from braid.control.memory.adapting import Decide
from braid.control.memory.decisions import Decided, Nothing, Spill
from braid.control.memory.groups import MemoryState
from braid.control.memory.separating import Hidden
from braid.control.ordering import Ordering
from braid.engine.memory import disk
from braid.engine.tasks.merging import slices
from braid.engine.tasks.worker import cache
from braid.errors import CorruptStateError, StorageWarning, StrategyError
from braid.optimizer.strategies import Biclique, Partitioned
from braid.plan.memory import MemoryLimit
from braid.state.blocks import BlockReader
from braid.state.manifest import Manifest
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from tests.budget import seeds
from tests.properties.cases import Case, make_keyed_case, results_of
from tests.properties.grouped import pushing, some_groups, start
from tests.properties.test_interleaving import distinct, emitted, last_values, logical, summed

PUSHED = seeds(71_000, 18)
RESTARTED = seeds(72_000, 12)
PARTLY = seeds(73_000, 8)
SUMMED = seeds(74_000, 4)
RETURNING = seeds(75_000, 6)
FULL = seeds(76_000, 3)


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(merging, "MAX_LIVE_ASSIGNMENTS", 2)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 20)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 2)


def owing_groups(query: InlineQuery) -> tuple[int, ...]:
    state = query.steps.manifest.groups
    return () if state is None else state.owing


def run_all(case: Case, query: InlineQuery) -> None:
    for batch in range(len(case.batches)):
        query.run(batch, case.tables(batch))


def drain(query: InlineQuery) -> int:
    """Clean-up steps until nothing is deferred; their number."""
    steps = 0
    while (progress := query.steps.clean_up()) is not None:
        steps += 1
        assert progress["sparkBatchId"] is None
    assert query.steps.manifest.pushes == ()
    return steps


def check_apart(query: InlineQuery, progress: dict[str, Any]) -> None:
    """No lookup has opened pushed rows: they are in blocks apart, a segment for each group, and other rows are not."""
    manifest = query.steps.manifest
    opened = progress["deferred"].get("openedRows", 0), progress["deferred"].get("openedBytes", 0)
    assert opened == (0, 0)
    pushed: Counter[int] = Counter()
    for block in manifest.blocks:
        hidden = {group for push in manifest.pushes if push.step > block.last_step for group in push.groups}
        reader = BlockReader(query.checkpoint.files.map(f"{query.checkpoint.path}/blocks/{block.file}"), block.file)
        for segment in reader.segments:
            ranges = reader.ranges_of(segment)
            assert ranges is not None
            groups = set(ranges[0].tolist())
            assert len(groups) == 1 and groups <= set(block.apart) if block.apart else not groups & hidden
            pushed.update(dict.fromkeys(groups & hidden, segment.rows))
    # What expires of pushed rows stays counted until they are cleaned up.
    loads = () if manifest.groups is None else manifest.groups.loads
    assert all(loads[group].pushed_rows >= rows for group, rows in pushed.items())


def check(case: Case, got: Counter[tuple[Any, ...]]) -> None:
    missing, surplus = case.expected - got, got - case.expected
    assert got == case.expected, (case.describe(), missing.total(), surplus.total(), [*missing][:2], [*surplus][:2])


@pytest.mark.parametrize("seed", PUSHED)
def test_pushed_groups_lose_and_repeat_nothing(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock, strategy = ManualClock(case.clock_ms[0]), some_groups(chance)
    query = start(case, tmp_path, chance, clock, strategy=strategy, memory=pushing(seed))
    deferred = False
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        progress = query.run(batch, case.tables(batch))
        assert progress is not None
        deferred |= bool(progress["deferred"])
        check_apart(query, progress)
        if chance.random() < 0.15:
            drain(query)
    found = results_of(case, query.published())
    assert not found - case.expected
    drain(query)
    assert deferred
    check(case, results_of(case, query.published()))
    assert query.steps.clean_up() is None


@pytest.mark.parametrize("seed", PARTLY)
def test_a_clean_up_of_some_groups_leaves_the_others_deferred(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One group of each unit is cleaned up, between batches that push others."""
    monkeypatch.setattr(deferring, "CLEAN_UP_BYTES", 1)
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])
    query = start(case, tmp_path, chance, clock, strategy=Partitioned(2, groups=6), memory=pushing(seed))
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        progress = query.run(batch, case.tables(batch))
        assert progress is not None
        check_apart(query, progress)
        owing = owing_groups(query)
        if owing and chance.random() < 0.6:
            query.steps.clean_up()
            units = query.steps.manifest.layout.group_units
            assert len(owing_groups(query)) == len(owing) - len({units[group] for group in owing})
    drain(query)
    check(case, results_of(case, query.published()))


def test_pushed_rows_are_not_read_before_their_clean_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of pushed rows are taken away after each step: only the clean-up misses them."""
    case, clock = make_keyed_case(71_003), ManualClock(0)
    hidden = tmp_path / "elsewhere"
    hidden.mkdir()
    query = start(case, tmp_path, random.Random(0), clock, strategy=Partitioned(2, groups=6), memory=pushing(3))
    taken: list[Path] = []
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        manifest = query.steps.manifest
        for block in (block for block in manifest.blocks if Hidden(manifest.pushes).whole(block)):
            path = Path(query.checkpoint.path, "blocks", block.file)
            if path.exists():
                path.rename(hidden / block.file)
                taken.append(path)
    # A worker that has a block open needs no file.
    monkeypatch.setattr(cache, "_open_stores", type(cache._open_stores)())
    assert taken
    with pytest.raises(CorruptStateError, match="is missing"):
        query.steps.clean_up()
    for path in taken:
        (hidden / path.name).rename(path)
    drain(query)
    check(case, results_of(case, query.published()))


def test_rows_that_are_not_put_apart_are_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a push left rows where they are, lookups would open them, and progress would say so."""
    monkeypatch.setattr(keeping, "separations", lambda *_: ())
    case, clock = make_keyed_case(71_003), ManualClock(0)
    query = start(case, tmp_path, random.Random(0), clock, strategy=Partitioned(2, groups=6), memory=pushing(3))
    found = []
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        progress = query.run(batch, case.tables(batch))
        found += [] if progress is None or not progress["deferred"] else [progress["deferred"]]
    assert sum(record["openedRows"] for record in found) > 0
    assert sum(record["openedBytes"] for record in found) > 0


@pytest.mark.parametrize("seed", RETURNING)
def test_ticks_clean_up_what_memory_has_room_for_again(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])

    def some(manifest: Manifest) -> tuple[int, ...]:
        owing = () if manifest.groups is None else manifest.groups.owing
        return tuple(group for group in owing if chance.random() < 0.5)

    given = {"strategy": Partitioned(2, groups=6), "memory": pushing(seed), "returning": some}
    query = start(case, tmp_path, chance, clock, **given)
    ticks = 0
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        check_of_sources = SourceCheck(clock(), (True,) * len(case.streams))
        assert query.steps.tick(check_of_sources, trailing=False) is None, "rows are expected at once"
        ticks += query.steps.tick(check_of_sources) is not None
    drain(query)
    check(case, results_of(case, query.published()))
    assert ticks


@pytest.mark.parametrize("seed", FULL)
def test_deferred_results_are_found_before_the_disk_is_full(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disk, "EARLY", 0.4)
    case = make_keyed_case(seed)

    def run(name: str, limit: int) -> tuple[int, int, Counter[tuple[Any, ...]]]:
        """The largest size of the checkpoint, the steps without input, and the results."""
        chance, clock, largest = random.Random(seed), ManualClock(case.clock_ms[0]), 0
        limits = MemoryLimit(1 << 30, disk_bytes=limit)
        given = {"strategy": Partitioned(2, groups=6), "memory": pushing(seed, 0.8), "limits": limits}
        query = start(case, tmp_path / name, chance, clock, **given)
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            progress = query.run(batch, case.tables(batch))
            largest = max(largest, 0 if progress is None else progress["memory"]["diskBytes"])
        extra = query.steps.manifest.step + 1 - len(case.batches)
        drain(query)
        return largest, extra, results_of(case, query.published())

    largest, extra, found = run("free", 1 << 30)
    assert extra == 0
    check(case, found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StorageWarning)  # that the limit is near is what is tested
        _, extra, found = run("full", 2 * largest)
    assert extra > 0
    check(case, found)


@pytest.mark.parametrize("kind", ["distinct", "totals"])
@pytest.mark.parametrize("seed", SUMMED)
def test_totals_and_distinct_rows_are_those_of_a_join_that_defers_nothing(seed: int, kind: str, tmp_path: Path) -> None:
    case = make_keyed_case(seed, batches=8)
    plan = logical(case, distinct if kind == "distinct" else summed(None), ordered=False)

    def run(name: str, memory: Decide | None) -> pa.Table:
        clock = ManualClock(case.clock_ms[0])
        query = InlineQuery(
            plan, str(tmp_path / name), strategy=Partitioned(2, groups=6), slots=2, clock=clock, memory=memory
        )
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            query.run(batch, case.tables(batch))
        drain(query)
        return query.published()

    whole, deferred = run("whole", None), run("deferred", pushing(seed))
    if kind == "distinct":
        assert emitted(deferred) == emitted(whole), case.describe()
    else:
        assert last_values(deferred) == last_values(whole), case.describe()


def test_a_distinct_row_that_a_deferred_result_repeats_is_not_forgotten(tmp_path: Path) -> None:
    """Clean-up finds a second pair with the values of a row that was emitted long before."""
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=10, lateness_us=0) for name in "rs")
    draft.on(equal(r["k"], s["k"]))
    plan = draft.distinct(r["k"], s["ts"]).logical_plan()

    def push_first(state: MemoryState) -> Decided:
        pushed = tuple(np.flatnonzero(state.groups.sizes > 0).tolist()) if state.step == 1 else ()
        adaptation = Spill(0, pushed, 0, "for a test") if pushed else Nothing("no push")
        return Decided((adaptation,), state.history)

    query = InlineQuery(plan, str(tmp_path), strategy=Partitioned(1, groups=4), memory=push_first)
    # The rows of key 1 at times 0 and 1 are in two parts; later rows move the watermarks and compact what is known.
    arriving = [([0], []), ([1], [1]), *(([time], [time]) for time in range(100, 1100, 100))]
    for step, times in enumerate(arriving):
        key = 1 if step < 2 else step
        tables = {
            name: pa.table(
                {"ts": pa.array(own, pa.timestamp("us", "UTC")), "k": pa.array([key] * len(own), pa.int64())}
            )
            for name, own in zip("rs", times, strict=True)
        }
        query.run(step, tables)
    before = emitted(query.published())
    assert drain(query) == 1
    assert emitted(query.published()) == before
    assert before.total() == len(before) == 1 + 10


def test_results_that_must_come_in_order_are_not_deferred(tmp_path: Path) -> None:
    case, clock = replace(make_keyed_case(71_000), ordered=True), ManualClock(0)
    given = {"strategy": Partitioned(2, groups=6), "memory": pushing(0, 1), "ordering": Ordering("filter-order", 0.3)}
    query = start(case, tmp_path, random.Random(0), clock, **given)
    with pytest.raises(StrategyError, match="cannot be deferred: its results are emitted in order"):
        run_all(case, query)


@pytest.mark.parametrize("seed", RESTARTED)
def test_a_restart_cleans_up_first_also_with_another_strategy(seed: int, tmp_path: Path) -> None:
    chance, case = random.Random(seed), make_keyed_case(seed)
    clock = ManualClock(case.clock_ms[0])
    grouped = Partitioned(3, groups=8)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        if batch == 0 or chance.random() < 0.4:
            strategy = chance.choice((grouped, grouped, Partitioned(2, groups=8), Biclique(2)))
            query = start(case, tmp_path, chance, clock, strategy=strategy, memory=pushing(seed))
        query.run(batch, case.tables(batch))
    drain(query)
    check(case, results_of(case, query.published()))
