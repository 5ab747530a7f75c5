"""Ordered results without Spark: after every step exactly what may leave has left, in order, whatever holds it back."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control import merging, ordering, releasing
from braid.control.ordering import Ordering
from braid.engine.tasks import ingest
from braid.engine.tasks.ordered import buffering, release
from braid.plan.memory import MemoryLimit
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.testing import FailingFiles, InjectedCrash, InlineQuery, ManualClock
from tests.budget import seeds
from tests.oracle.ordering import Releases
from tests.properties.cases import Case, make_case, results_of, some_exchange, strategies

PLAIN = seeds(11_000, 18)
CRASHED = seeds(12_000, 15)
ROW_BASED = seeds(14_000, 12)
LONG = seeds(15_000, 12)
CRAMPED = seeds(13_000, 12)
POLICIES = (Ordering("sync-filter", 0.3), Ordering("filter-order", 0.3), Ordering("adaptive", 0.3))


def ordered_case(seed: int, small: bool = False, shares: tuple[int, int, int] = (60, 30, 10)) -> Case:
    """A case whose streams may be far apart, silent, or end; lateness may have no limit in one stream at most."""
    chance = random.Random(seed)
    case = make_case(seed, small=small, shares=shares)
    limits = [stream.lateness_us for stream in case.streams]
    open_ended = limits.count(None)
    streams = tuple(
        replace(stream, lateness_us=0 if stream.lateness_us is None and open_ended > 1 else stream.lateness_us)
        for stream in case.streams
    )
    batches = list(case.batches)
    behind = chance.choice(streams).name
    kind = chance.choice(("as it is", "behind", "ends", "bursts"))
    if kind == "behind":
        batches = [{**b, behind: [] if n % 2 else b.get(behind, [])} for n, b in enumerate(batches)]
    elif kind == "ends":
        batches = [{**b, behind: b.get(behind, []) if n < 2 else []} for n, b in enumerate(batches)]
    elif kind == "bursts" and len(batches) > 1:
        everything = [row for batch in batches for row in batch.get(behind, [])]
        burst = chance.randrange(len(batches))
        batches = [{**b, behind: everything if n == burst else []} for n, b in enumerate(batches)]
    return replace(case, streams=streams, batches=tuple(batches), ordered=True)


def times_of(query: InlineQuery) -> list[int]:
    """The result times as a reader of the files by name and row sees them."""
    times: list[int] = query.published().column("result_time").cast(pa.int64()).to_pylist()
    return times


def check(case: Case, query: InlineQuery, releases: Releases, how: object) -> None:
    got = results_of(case, query.published())
    missing, surplus = releases.left - got, got - releases.left
    assert got == releases.left, f"{case.describe()}\n{how}\nmissing {missing}, surplus {surplus}"
    times = times_of(query)
    assert times == sorted(times), f"{case.describe()}\n{how}\nout of order: {times}"


def oracle(case: Case) -> Releases:
    return Releases(case.streams, [predicate.condition for predicate in case.predicates], case.clock_ms[0])


def outlive(
    case: Case,
    chance: random.Random,
    path: Path,
    *,
    crashes: tuple[int, ...],
    flushed: float,
    most: int = 2,
    between: Callable[[Checkpoint], None] = lambda _: None,
) -> None:
    """All batches by runs that begin anew, with another strategy and policy, and die at a random write.

    Every action is tried with a crash among its first so many writes, then without. A share of the batches is followed
    by a flush. There are at most so many slots and ingest tasks. `between` is called between a batch and its flush.
    """
    releases, clock = oracle(case), ManualClock(case.clock_ms[0])
    choices = strategies(case.logical_plan, chance)
    memory = random.Random(f"memory {case.seed}")

    def start(crash_at: int | None) -> InlineQuery:
        return InlineQuery(
            case.logical_plan,
            str(path),
            strategy=chance.choice(choices),
            slots=chance.randint(1, most),
            ingest_tasks=chance.randint(1, most),
            clock=clock,
            files=LocalFiles() if crash_at is None else FailingFiles(LocalFiles(), crash_at),
            ordering=chance.choice(POLICIES),
            exchange=some_exchange(case.logical_plan, chance),
            limits=memory.choice((None, MemoryLimit(1), MemoryLimit(5_000))),
        )

    def survive(action: Callable[[InlineQuery], object], how: object) -> None:
        for writes in (*crashes, None):
            try:
                query = start(None if writes is None else chance.randint(1, writes))
                action(query)
            except InjectedCrash:
                continue
            check(case, query, releases, (choices, how))
            return
        raise AssertionError("the last run cannot crash")

    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        releases.restart(now)
        releases.batch(case.batches[batch], now)
        survive(lambda query, batch=batch: query.run(batch, case.tables(batch)), batch)
        between(Checkpoint(LocalFiles(), f"{path}/checkpoint"))
        if chance.random() < flushed or batch == len(case.clock_ms) - 1:
            releases.flush()
            survive(lambda query: query.steps.flush(), (batch, "flush"))


@pytest.mark.parametrize("seed", PLAIN)
def test_what_may_be_emitted_is_emitted_in_order(seed: int, tmp_path: Path) -> None:
    case, chance = ordered_case(seed), random.Random(seed)
    for number, policy in enumerate(POLICIES):
        clock = ManualClock(case.clock_ms[0])
        strategy, releases = chance.choice(strategies(case.logical_plan, chance)), oracle(case)
        query = InlineQuery(
            case.logical_plan,
            str(tmp_path / str(number)),
            strategy=strategy,
            slots=chance.randint(1, 3),
            clock=clock,
            ordering=policy,
            exchange=some_exchange(case.logical_plan, chance),
        )
        for batch, now in enumerate(case.clock_ms):
            clock.now_ms = now
            query.run(batch, case.tables(batch))
            releases.batch(case.batches[batch], now)
            check(case, query, releases, (policy, strategy, batch))
        query.steps.flush()
        releases.flush()
        check(case, query, releases, (policy, strategy, "flush"))


@pytest.mark.parametrize("seed", CRASHED)
def test_crashes_restarts_and_switches_neither_lose_nor_repeat_nor_reorder(seed: int, tmp_path: Path) -> None:
    """Every run of the query has another policy and dies at a random write; between batches time passes or all is let
    out."""
    case, chance = ordered_case(seed, small=True), random.Random(seed)
    outlive(case, chance, tmp_path, crashes=(12, 30), flushed=0.2)


def row_based_case(seed: int) -> Case:
    """A case in which some streams have windows that count rows; many rows share a time, and some are equal."""
    chance = random.Random(seed)
    case = ordered_case(seed)
    counted = {stream.name for stream in case.streams if chance.random() < 0.6} or {case.streams[0].name}
    streams = tuple(
        replace(stream, window_us=None, window_rows=chance.choice((1, 2, 5, 30))) if stream.name in counted else stream
        for stream in case.streams
    )
    batches = tuple(
        {name: [row for row in rows for _ in range(chance.choice((1, 1, 1, 2)))] for name, rows in batch.items()}
        for batch in case.batches
    )
    alike = tuple({name: [dict(row) for row in rows] for name, rows in batch.items()} for batch in batches)
    return replace(case, streams=streams, batches=alike)


@pytest.mark.parametrize("seed", ROW_BASED)
def test_windows_of_rows_do_not_depend_on_arrival(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any cut, any strategy and a crash in every run: the last rows are those of the oracle."""
    case, chance = row_based_case(seed), random.Random(seed)
    if chance.random() < 0.5:
        monkeypatch.setattr(merging, "FAN_IN", 2)
        monkeypatch.setattr(merging, "BASE_ROWS", 4)
    outlive(case, chance, tmp_path, crashes=(40,), flushed=0.3, most=3)


def as_after_a_long_run(checkpoint: Checkpoint) -> None:
    """The newest manifest, as if 2^23 steps and a good part of all 64-bit row ids had come before it."""
    manifest = checkpoint.last_manifest()
    assert manifest is not None
    for name in checkpoint.files.list(f"{checkpoint.path}/manifests"):
        checkpoint.files.delete(f"{checkpoint.path}/manifests/{name}")
    next_row_id = (manifest.next_row_id + (1 << 61) + 11) % (1 << 64)
    checkpoint.write_manifest(replace(manifest, step=manifest.step + (1 << 23), next_row_id=next_row_id))


@pytest.mark.parametrize("seed", LONG)
def test_windows_of_rows_are_exact_in_a_run_of_any_length(seed: int, tmp_path: Path) -> None:
    """Row ids pass 2^63 and 2^64, and steps 2^23, while rows from before are still in their windows."""
    case, chance = row_based_case(seed), random.Random(seed)
    outlive(case, chance, tmp_path, crashes=(40,), flushed=0.3, most=3, between=as_after_a_long_run)


@pytest.mark.parametrize("seed", CRAMPED)
def test_small_pieces_many_files_and_a_fluttering_policy_change_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name, value in (
        (ingest, "CHUNK_ROWS", 5),
        (ingest, "SAMPLED_TIMES", 2),
        (buffering, "ROWS_PER_SEGMENT", 3),
        (buffering, "CUTS", 3),
        (release, "ROWS_AT_ONCE", 4),
        (release, "SAMPLED", 2),
        (releasing, "MIN_ROWS_PER_SLOT", 2),
        (releasing, "MAX_FILES", 2),
        (merging, "FAN_IN", 2),
        (merging, "CLOSED_FAN_IN", 2),
        (merging, "BASE_ROWS", 4),
    ):
        monkeypatch.setattr(module, name, value)
    case, chance = ordered_case(seed), random.Random(seed)
    monkeypatch.setattr(ordering, "lookup_delay", lambda pace: chance.choice((0.0, 1.0)))
    releases, clock = oracle(case), ManualClock(case.clock_ms[0])
    query = InlineQuery(
        case.logical_plan,
        str(tmp_path),
        strategy=chance.choice(strategies(case.logical_plan, chance)),
        slots=chance.randint(1, 4),
        ingest_tasks=chance.randint(1, 3),
        clock=clock,
        ordering=Ordering("adaptive", 0.3),
        exchange=some_exchange(case.logical_plan, chance),
    )
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        query.run(batch, case.tables(batch))
        releases.batch(case.batches[batch], now)
        check(case, query, releases, batch)
    query.steps.flush()
    releases.flush()
    check(case, query, releases, "flush")
