"""Random joins under memory limits: the rows never depend on the limit, nor on changing it at a restart."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from braid.control import compaction, merging
from braid.engine import locations
from braid.engine.tasks.merging import slices
from braid.engine.tasks.worker import cache
from braid.optimizer.strategies import Strategy
from braid.plan.memory import MemoryLimit
from braid.state.files import ArrowFiles, Files, LocalFiles
from braid.state.paging import checksums, segment_bytes
from braid.testing import InlineQuery, ManualClock
from braid.testing.failing import FailingFiles, InjectedCrash
from tests.budget import seeds
from tests.properties.cases import Case, make_case, results_of, some_exchange, strategies

LIMITED = seeds(64_000, 30)
RESTARTED = seeds(65_000, 15)
CRASHED = seeds(66_000, 15)
REMOTE = seeds(67_000, 6)

# From less than a row to more than all rows: a worker keeps nothing, some or all of its segments.
LIMITS = (1, 200, 3_000, 20_000, 1 << 30)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks and merges so small that segments of a few rows have several, and no open segment of another test."""
    monkeypatch.setattr(checksums, "CHUNK_BYTES", 64)
    monkeypatch.setattr(segment_bytes, "BYTES_AT_ONCE", 256)
    for module, name, limit in (
        (merging, "FAN_IN", 2),
        (merging, "CLOSED_FAN_IN", 2),
        (merging, "BASE_ROWS", 4),
        (compaction, "LEAST_ROWS", 5),
        (compaction, "SHARE", 0),
        (slices, "MIN_ROWS_TO_CUT", 2),
    ):
        monkeypatch.setattr(module, name, limit)
    monkeypatch.setattr(cache, "_open_stores", type(cache._open_stores)())


def open_query(
    case: Case,
    directory: Path,
    chance: random.Random,
    clock: ManualClock,
    choices: Sequence[Strategy],
    limit: int | None,
    files: Files | None = None,
) -> InlineQuery:
    return InlineQuery(
        case.logical_plan,
        str(directory),
        strategy=chance.choice(choices),
        slots=chance.randint(1, 3),
        ingest_tasks=chance.randint(1, 2),
        clock=clock,
        exchange=some_exchange(case.logical_plan, chance),
        limits=None if limit is None else MemoryLimit(limit),
        files=files,
    )


@pytest.mark.parametrize("seed", LIMITED)
def test_any_limit_gives_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed), random.Random(seed)
    clock = ManualClock(case.clock_ms[0])
    query = open_query(case, tmp_path, chance, clock, strategies(case.logical_plan, chance), chance.choice(LIMITS))
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
    got = results_of(case, query.published())
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("seed", REMOTE)
def test_limits_on_memory_and_copies_of_remote_blocks_change_no_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    case, chance = make_case(seed), random.Random(seed)
    files = ArrowFiles(SubTreeFileSystem(str(tmp_path), LocalFileSystem()), "hdfs")
    monkeypatch.setattr(locations, "locate", lambda location: (files, location))
    monkeypatch.setattr(cache, "copies_directory", lambda: str(tmp_path / "copies"))
    clock = ManualClock(case.clock_ms[0])
    limits = MemoryLimit(chance.choice(LIMITS), cache_bytes=chance.choice((1, 5_000)))
    query = InlineQuery(case.logical_plan, "bucket", files=files, clock=clock, limits=limits)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
    got = results_of(case, query.published())
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("seed", RESTARTED)
def test_restarts_with_other_limits_give_the_same_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed).restarted(), random.Random(seed)
    clock, choices = ManualClock(case.clock_ms[0]), strategies(case.logical_plan, chance)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query = open_query(case, tmp_path, chance, clock, choices, chance.choice((None, *LIMITS)))
        query.run(batch, case.tables(batch))
        got = results_of(case, query.published())
    assert got == case.expected, case.describe()


@pytest.mark.parametrize("seed", CRASHED)
def test_crashes_under_a_limit_lose_and_repeat_nothing(seed: int, tmp_path: Path) -> None:
    """The driver dies at random operations on storage; every run that takes over has another limit."""
    case, chance = make_case(seed).restarted(), random.Random(seed)
    clock, choices = ManualClock(case.clock_ms[0]), strategies(case.logical_plan, chance)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        for at in (chance.randint(1, 60), chance.randint(1, 60), None):
            files = LocalFiles() if at is None else FailingFiles(LocalFiles(), at, chance.choice(("before", "after")))
            try:
                query = open_query(case, tmp_path, chance, clock, choices, chance.choice((None, *LIMITS)), files)
                query.run(batch, case.tables(batch))
            except InjectedCrash:
                continue
            break
    last = open_query(case, tmp_path, chance, clock, choices, None)
    got = results_of(case, last.published())
    assert got == case.expected, case.describe()
