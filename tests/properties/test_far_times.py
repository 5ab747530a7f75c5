"""Event times far from now, up to the ends of what 64 bits hold: the engine lives, and gives the oracle's rows.

The oracle counts with Python's integers, which have no ends.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.control import merging
from braid.plan.durations import LONGEST_US
from braid.plan.instants import EARLIEST_US, LATEST_US, clipped
from braid.testing import Draft, InlineQuery, ManualClock, OracleStream
from tests.budget import seeds
from tests.properties.aggregates import draft, random_aggregation
from tests.properties.cases import Case, make_case, results_of, strategies
from tests.properties.running import explain
from tests.properties.test_ordered import POLICIES, ordered_case, outlive
from tests.properties.test_ordered_aggregates import Expected, Rows, random_batches, some_strategy, tables_of

PLAIN = seeds(31_000, 18)
ORDERED = seeds(32_000, 12)
SUMMED = seeds(34_000, 12)
COUNTED = seeds(33_000, 8)

DAY_US = 86_400_000_000
YEAR_1 = -62_135_596_800_000_000
YEAR_57970 = 1_767_200_000_000_000_000
PLACES = (EARLIEST_US, EARLIEST_US + 1, -(1 << 62), YEAR_1, 0, 1 << 53, YEAR_57970, 1 << 62, LATEST_US - 60, LATEST_US)


def far_case(case: Case, chance: random.Random) -> Case:
    """The case with its times around one far place, some of its rows at others, and windows of any length."""
    home, strays = chance.choice(PLACES), chance.choice((0.0, 0.03, 0.15))

    def moved(time: int | None) -> int | None:
        if time is None:
            return None
        return clipped((chance.choice(PLACES) if chance.random() < strays else home) + time - chance.choice((0, 30)))

    def far(stream: OracleStream) -> OracleStream:
        window, lateness = stream.window_us, stream.lateness_us
        return replace(
            stream,
            window_us=None if window is None else chance.choice((window, window, 10**12, LONGEST_US)),
            lateness_us=None if lateness is None else chance.choice((lateness, lateness, DAY_US, LONGEST_US)),
            max_ahead_us=chance.choice((None, None, 0, 20, LONGEST_US)),
        )

    batches = tuple(
        {name: [{**row, "ts": moved(row["ts"]), "u": moved(row["u"])} for row in rows] for name, rows in batch.items()}
        for batch in case.batches
    )
    return replace(case, streams=tuple(far(stream) for stream in case.streams), batches=batches)


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks are enough to merge, so that few steps have old rows to drop."""
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)


@pytest.mark.parametrize("seed", PLAIN)
def test_far_times_give_the_oracles_rows_through_restarts(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = far_case(make_case(seed), chance).restarted()
    choices, clock = strategies(case.logical_plan, chance), ManualClock(case.clock_ms[0])
    got: Counter[tuple[Any, ...]] = Counter()
    for batch, now in enumerate(case.clock_ms):
        clock.now_ms = now
        strategy = chance.choice(choices)
        query = InlineQuery(
            case.logical_plan, str(tmp_path), strategy=strategy, slots=chance.randint(1, 3), clock=clock
        )
        progress = query.run(batch, case.tables(batch))
        json.dumps(progress)
        got = results_of(case, query.published())
    assert got == case.expected, explain(case, got, choices)


@pytest.mark.parametrize("seed", ORDERED)
def test_far_times_are_emitted_in_order_through_crashes(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = far_case(ordered_case(seed, small=True), chance)
    outlive(case, chance, tmp_path, crashes=(chance.choice((8, 30)),), flushed=0.3)


@pytest.mark.parametrize("seed", COUNTED)
def test_windows_of_rows_hold_far_times(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case = far_case(ordered_case(seed, small=True, shares=(100, 0, 0)), chance)
    first, *others = case.streams
    counting = replace(first, window_us=None, window_rows=chance.randint(1, 4))
    outlive(replace(case, streams=(counting, *others)), chance, tmp_path, crashes=(20,), flushed=0.3)


def moved_by(batches: list[dict[str, Rows]], by_us: int) -> list[dict[str, Rows]]:
    return [{n: [{**row, "ts": row["ts"] + by_us} for row in rows] for n, rows in batch.items()} for batch in batches]


@pytest.mark.parametrize("seed", SUMMED)
def test_ordered_aggregates_hold_far_times(seed: int, tmp_path: Path) -> None:
    """Batches span some 200 microseconds from their place on."""
    chance = random.Random(seed)
    asked, place = random_aggregation(chance), chance.choice((EARLIEST_US, YEAR_1, YEAR_57970, LATEST_US - 220))
    batches, expected = moved_by(random_batches(chance), place), Expected(asked)
    logical_plan, policy = draft(asked, True).ordered().logical_plan(), chance.choice(POLICIES)
    for number, batch in enumerate(batches):
        query = InlineQuery(logical_plan, str(tmp_path), strategy=some_strategy(chance), ordering=policy)
        query.run(number, tables_of(batch))
        expected.batch(batch, 0)
        expected.check(query.published(), (asked, policy, number))
    query.steps.flush()
    expected.flush()
    expected.check(query.published(), (asked, policy, "end"))


@pytest.mark.parametrize("seed", SUMMED)
def test_aggregates_of_far_times_are_those_of_near_ones(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    asked, batches, strategy = random_aggregation(chance), random_batches(chance), some_strategy(chance)
    logical_plan, found = draft(asked, True).logical_plan(), []
    for place in (0, EARLIEST_US, YEAR_57970, LATEST_US - 220):
        query = InlineQuery(logical_plan, str(tmp_path / str(place)), strategy=strategy)
        for number, batch in enumerate(moved_by(batches, place)):
            query.run(number, tables_of(batch))
        found.append(near_rows(query.published(), place))
    assert found[1:] == found[:1] * 3, asked


def near_rows(table: pa.Table, place: int) -> list[str]:
    """The rows with their times counted from a place, as text that sorts."""
    columns = []
    for column in table.columns:
        if pa.types.is_timestamp(column.type):
            times = column.cast(pa.int64()).to_pylist()
            columns.append([None if time is None else time - place for time in times])
        else:
            columns.append(column.to_pylist())
    return sorted(map(repr, zip(*columns, strict=True)))


def far_rows(*times: int | None) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "id": pa.array(range(len(times)), pa.int64())})


def late_rows(query: InlineQuery, stream: str) -> list[tuple[int | None, str]]:
    """The event times of late rows, with their reasons."""
    found = []
    directory = Path(query.checkpoint.path) / "late" / stream
    for file in sorted(directory.iterdir() if directory.exists() else []):
        table = pq.read_table(file)
        times = table.column("row").combine_chunks().field("ts").cast(pa.int64()).to_pylist()
        found += list(zip(times, table.column("reason").to_pylist(), strict=True))
    return found


def query_of(directory: Path, clock: ManualClock, **options: Any) -> InlineQuery:
    """Two streams with windows of a minute; the options are those of the first."""
    draft = Draft()
    draft.stream("a", {"id": "bigint"}, window_us=60_000_000, **options)
    draft.stream("b", {"id": "bigint"}, window_us=60_000_000)
    return InlineQuery(draft.logical_plan(), str(directory), clock=clock)


HOUR_US = 3_600_000_000
NOW_MS = 1_767_200_000_000
BROUGHT = (
    (1000 * NOW_MS, YEAR_57970, 1000 * NOW_MS + HOUR_US + 1, None),
    (1000 * NOW_MS + 1, 1000 * NOW_MS + HOUR_US),
    (1000 * NOW_MS + 2,),
)


@pytest.mark.parametrize(("max_ahead_us", "late", "results"), [(HOUR_US, [3, 0, 0], 9), (None, [1, 2, 1], 3)])
def test_a_row_of_year_57970_is_outlived(
    max_ahead_us: int | None, late: list[int], results: int, tmp_path: Path
) -> None:
    """Milliseconds were taken for seconds. Without a limit later rows of the stream are late, with one no other is."""
    clock, found = ManualClock(NOW_MS), []
    for number, times in enumerate(BROUGHT):
        query = query_of(tmp_path, clock, lateness_us=HOUR_US, max_ahead_us=max_ahead_us)
        progress = query.run(number, {"a": far_rows(*times), "b": far_rows(1000 * NOW_MS + number)})
        assert progress is not None
        found.append(json.loads(json.dumps(progress)))
    assert [progress["lateRows"]["a"] for progress in found] == late
    assert query.published().num_rows == results
    if max_ahead_us is None:
        assert found[-1]["watermarks"]["a"] == "+57970-05-04T15:53:20.000Z"
        assert [reason for _, reason in late_rows(query, "a")] == ["no event time"] + 3 * ["below the watermark"]
    else:
        ahead = [(time, "ahead of the clock") for time in BROUGHT[0][1:3]]
        assert late_rows(query, "a") == [*ahead, (None, "no event time")]


def test_a_row_of_year_1_with_an_hour_of_lateness(tmp_path: Path) -> None:
    """The watermark of its stream lies before every year that Python's own types hold."""
    for number, times in enumerate(((YEAR_1,), (YEAR_1 - HOUR_US, YEAR_1 - HOUR_US - 1))):
        query = query_of(tmp_path, ManualClock(), lateness_us=HOUR_US)
        progress = query.run(number, {"a": far_rows(*times), "b": far_rows(YEAR_1)})
    assert progress is not None
    assert progress["watermarks"] == {"a": "0000-12-31T23:00:00.000Z", "b": "0001-01-01T00:00:00.000Z"}
    assert late_rows(query, "a") == [(YEAR_1 - HOUR_US - 1, "below the watermark")]
