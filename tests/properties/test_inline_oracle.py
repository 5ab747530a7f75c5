"""Random joins without Spark: the engine gives exactly the oracle's rows, however it is run."""

from __future__ import annotations

import random
from pathlib import Path
from types import ModuleType

import pytest
from pyarrow.fs import LocalFileSystem, SubTreeFileSystem

from braid.control import compaction, merging
from braid.engine import locations
from braid.engine.tasks import ingest, intermediate, lookups, results, shuffle
from braid.engine.tasks.lookup import arrivals, exchange
from braid.engine.tasks.merging import slices
from braid.engine.tasks.worker import cache
from braid.kernels import join as kernel
from braid.kernels import search, sizes, tiles
from braid.state.files import ArrowFiles
from braid.testing import InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import make_case, results_of, same_columns, some_exchange, strategies
from tests.properties.running import explain, run, run_restarted

PLAIN = seeds(0, 45)
VARIED = seeds(1000, 8)
RESTARTED = seeds(2000, 14)
CRAMPED = seeds(4000, 15)
REMOTE = seeds(8000, 6)
UNCUT = seeds(3000, 12)

CRAMPING: tuple[tuple[ModuleType, str, int], ...] = (
    (ingest, "CHUNK_ROWS", 5),
    (lookups, "ROWS_AT_ONCE", 3),
    (arrivals, "ROWS_AT_ONCE", 3),
    (shuffle, "PIECE_BYTES", 60),
    (shuffle, "BYTES_AT_ONCE", 1000),
    (exchange, "ROWS_PER_SEGMENT", 3),
    (intermediate, "ROWS_PER_SEGMENT", 3),
    (results, "ROWS_PER_GROUP", 4),
    (results, "ROWS_PER_FILE", 16),
    (kernel, "PAIRS_AT_ONCE", 5),
    (tiles, "TILE_PROBES", 2),
    (tiles, "TILE_STORED", 3),
    (tiles, "TILE_PAIRS", 6),
    (search, "MIN_GROUP_TO_BISECT", 0),
    (merging, "FAN_IN", 2),
    (merging, "CLOSED_FAN_IN", 2),
    (merging, "BASE_ROWS", 4),
    (compaction, "LEAST_ROWS", 5),
    (compaction, "SHARE", 0),
    (slices, "MIN_ROWS_TO_CUT", 2),
    (sizes, "PIECE_BYTES", 200),
)


@pytest.mark.parametrize("seed", PLAIN)
def test_the_engine_gives_the_oracles_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed), random.Random(seed)
    got = run(case, tmp_path, slots=chance.randint(1, 3), ingest_tasks=chance.randint(1, 3))
    assert got == case.expected, explain(case, got)


@pytest.mark.parametrize("seed", VARIED)
def test_any_strategy_and_order_of_streams_gives_the_same_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed), random.Random(seed)
    for number, strategy in enumerate(strategies(case.logical_plan, chance)):
        slots, tasks = chance.randint(1, 4), chance.randint(1, 3)
        got = run(case, tmp_path / str(number), strategy, slots, tasks)
        assert got == case.expected, explain(case, got, (strategy, slots, tasks))
    other = case.reordered(chance)
    got = same_columns(case, other, run(other, tmp_path / "reordered"))
    assert got == case.expected, explain(case, got, [stream.name for stream in other.streams])


@pytest.mark.parametrize("seed", UNCUT)
def test_any_cut_gives_the_same_rows_when_nothing_is_late(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed, nothing_late=True), random.Random(seed)
    for number in range(3):
        cut = case.recut(chance)
        got = run(cut, tmp_path / str(number))
        assert got == case.expected, explain(case, got, [{n: len(r) for n, r in b.items()} for b in cut.batches])


@pytest.mark.parametrize("seed", RESTARTED)
def test_restarts_with_other_strategies_give_the_same_rows(seed: int, tmp_path: Path) -> None:
    case, chance = make_case(seed).restarted(), random.Random(seed)
    choices = strategies(case.logical_plan, chance)
    got = run_restarted(case, tmp_path, chance, lambda: chance.choice(choices))
    assert got == case.expected, explain(case, got, choices)


@pytest.mark.parametrize("seed", CRAMPED)
def test_limits_on_memory_and_blocks_change_no_rows(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every bound on pieces of work is made so small that each piece is cut many times, and merges are common."""
    for module, name, limit in CRAMPING:
        monkeypatch.setattr(module, name, limit)
    case, chance = make_case(seed), random.Random(seed)
    strategy, tasks = chance.choice(strategies(case.logical_plan, chance)), chance.randint(1, 2)
    got = run(case, tmp_path, strategy, chance.randint(1, 3), tasks)
    assert got == case.expected, explain(case, got, strategy)


@pytest.mark.parametrize("seed", REMOTE)
def test_storage_that_is_not_local_gives_the_same_rows(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Driver and tasks go through pyarrow's filesystems, and tasks through copies of the blocks."""
    case = make_case(seed)
    files = ArrowFiles(SubTreeFileSystem(str(tmp_path), LocalFileSystem()), "hdfs")
    monkeypatch.setattr(locations, "locate", lambda location: (files, location))
    monkeypatch.setattr(cache, "copies_directory", lambda: str(tmp_path / "copies"))
    clock = ManualClock(case.clock_ms[0])
    exchange = some_exchange(case.logical_plan, random.Random(seed))
    query = InlineQuery(case.logical_plan, "bucket", files=files, clock=clock, exchange=exchange)
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
    got = results_of(case, query.published())
    assert got == case.expected, explain(case, got)


def test_the_cases_have_results() -> None:
    """Most cases have results, many have late rows, and all kinds of predicates occur."""
    cases = [make_case(seed) for seed in range(60)]
    assert sum(bool(case.expected) for case in cases) > 40
    assert sum(case.late > 0 for case in cases) > 20
    assert {len(case.streams) for case in cases} == {2, 3, 4}
