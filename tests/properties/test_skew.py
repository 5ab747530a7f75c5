"""Keys that become hot and cool down: subgroups follow them while a query runs, and the results are the oracle's."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pytest

from braid.control import compaction, skew
from braid.control.elasticity import Elasticity
from braid.engine.tasks.merging import slices
from braid.optimizer.strategies import Auto, Biclique, Partitioned, Strategy
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import (
    Condition,
    Draft,
    FailingFiles,
    Fate,
    InjectedCrash,
    InlineQuery,
    ManualClock,
    OracleStream,
    answer,
    equal,
)
from tests.budget import seeds
from tests.properties.cases import some_exchange

SEEDS = seeds(9400, 10)
CRASHED = seeds(9500, 8)

Row = dict[str, Any]
Batches = list[dict[str, list[Row]]]
Results = Counter[tuple[Any, ...]]
FATES: tuple[Fate, ...] = ("once", "once", "once", "retried", "duplicated")
MOMENTS: tuple[Literal["before", "after"], ...] = ("before", "after")


@pytest.fixture(autouse=True)
def attentive(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are enough, and they are soon forgotten, so that small cases go both ways."""
    monkeypatch.setattr(skew, "MIN_SAMPLED_ROWS", 20)
    monkeypatch.setattr(skew, "DECAY", 0.5)


@dataclass(frozen=True)
class Skewed:
    """A join by key of two or three streams, with the oracle's answer."""

    logical_plan: LogicalPlan
    batches: Batches
    texts: bool
    expected: Results

    def tables(self, batch: int) -> dict[str, pa.Table]:
        types = {"ts": pa.timestamp("us", "UTC"), "k": pa.string() if self.texts else pa.int64()}
        return {
            name: pa.table({column: pa.array([row[column] for row in rows], type) for column, type in types.items()})
            for name, rows in self.batches[batch].items()
        }


def make_skewed(chance: random.Random) -> Skewed:
    names, window, texts = chance.choice(("rs", "rs", "rst")), chance.choice((30, 30, None)), chance.random() < 0.5
    draft = Draft()
    made = [
        draft.stream(name, {"k": "string" if texts else "bigint"}, window_us=window, lateness_us=0) for name in names
    ]
    for left, right in pairwise(made):
        draft.on(equal(left["k"], right["k"]))
    batches = list(_batches(chance, names, texts))
    streams = [OracleStream(name, window) for name in names]
    conditions = [Condition((left, right), lambda a, b: a["k"] == b["k"]) for left, right in pairwise(names)]
    rows = {name: [row for batch in batches for row in batch[name]] for name in names}
    return Skewed(draft.logical_plan(), batches, texts, answer(streams, rows, conditions))


def _batches(chance: random.Random, names: str, texts: bool) -> Iterator[dict[str, list[Row]]]:
    """Hot, calm and hot again, in batches of any size; of three streams only one has the hot key."""
    hot_share = 0.8 if len(names) == 2 else 0.7
    for number, hot in enumerate([True] * 4 + [False] * 7 + [True] * 3):
        batch = {}
        for name in names:
            share = hot_share if hot and (len(names) == 2 or name == "r") else 0.0
            keys = [7 if chance.random() < share else chance.randint(100, 160) for _ in range(chance.randint(8, 26))]
            times = sorted(10 * number + chance.randint(0, 9) for _ in keys)
            batch[name] = [
                {"ts": time, "k": f"key {key}" if texts else key} for time, key in zip(times, keys, strict=True)
            ]
        yield batch


def results_of(query: InlineQuery) -> Results:
    table = query.published()
    columns = [
        column.cast(pa.int64()).to_pylist() if pa.types.is_timestamp(column.type) else column.to_pylist()
        for column in table.columns
    ]
    return Counter(zip(*columns, strict=True))


def changes(adaptations: list[str]) -> tuple[int, int]:
    """How often keys were spread, and gathered again."""
    return (
        sum(text.startswith("spreads hot keys") for text in adaptations),
        sum(text.startswith("gathers keys") for text in adaptations),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_subgroups_follow_hot_keys_and_results_do_not_depend_on_them(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(compaction, "LEAST_ROWS", chance.choice((30, 1_000_000)))
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)
    case, slots, restarts = make_skewed(chance), chance.choice((2, 4, 6)), chance.random() < 0.5
    scales = chance.random() < 0.3
    elastic = Elasticity(0.3, 0.8, 0.6, 1, 1, chance.choice((2_000, 9_000)), 1, 3) if scales else None
    clock, adaptations, hot = ManualClock(0), [], []
    tasks = chance.randint(1, 2)
    strategy: Strategy = chance.choice((Auto(), Biclique(routing="contrand", shape="tree")))
    query: InlineQuery | None = None
    for number in range(len(case.batches)):
        clock.now_ms += 10
        if query is None or restarts:
            query = InlineQuery(
                case.logical_plan,
                str(tmp_path),
                strategy=strategy,
                slots=slots,
                ingest_tasks=tasks,
                clock=clock,
                elasticity=elastic,
                exchange=some_exchange(case.logical_plan, random.Random(seed + number)),
            )
        progress = query.run(number, case.tables(number))
        assert progress is not None
        adaptations += progress["adaptations"]
        hot += progress["hotKeys"]
    assert query is not None
    assert results_of(query) == case.expected, f"BRAID_SEED={seed}"
    spread, gathered = changes(adaptations)
    assert spread >= (0 if scales else 1), adaptations
    assert gathered >= (0 if scales else 1), adaptations
    assert {key["key"] for key in hot} == {"key 7" if case.texts else "7"}


@pytest.mark.parametrize("seed", CRASHED)
def test_a_crash_while_subgroups_change_repeats_and_loses_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    case, slots = make_skewed(chance), chance.choice((2, 4))
    strategies: list[Strategy] = [Auto(), Auto(), Auto(), Biclique(routing="contrand"), Partitioned(3)]
    clock, batch, crashes, epochs = ManualClock(0), 0, 0, set()
    while batch < len(case.batches):
        files = FailingFiles(LocalFiles(), chance.randint(10, 60) if crashes < 20 else None, chance.choice(MOMENTS))
        try:
            query = InlineQuery(
                case.logical_plan,
                str(tmp_path),
                strategy=chance.choice(strategies),
                slots=slots,
                clock=clock,
                files=files,
                fate=lambda _: chance.choice(FATES),
                exchange=some_exchange(case.logical_plan, chance),
            )
            batch = max(batch, query.last_batch + 1)
            while batch < len(case.batches):
                query.run(batch, case.tables(batch))
                epochs.add(query.steps.manifest.layout.groups)
                batch += 1
        except InjectedCrash:
            crashes += 1
    assert crashes > 3
    assert len(epochs) > 1
    assert results_of(query) == case.expected, f"BRAID_SEED={seed}"


@pytest.mark.parametrize("strategy", [Partitioned(4), Biclique((4, 4), (4, 4)), Biclique((4, 4))], ids=str)
def test_what_was_chosen_by_number_never_changes(strategy: Strategy, tmp_path: Path) -> None:
    chance = random.Random(1)
    case = make_skewed(chance)
    while len(case.logical_plan.streams) != 2:
        case = make_skewed(chance)
    query = InlineQuery(case.logical_plan, str(tmp_path), strategy=strategy, slots=2)
    seen = [query.run(number, case.tables(number)) for number in range(len(case.batches))]
    assert [progress["adaptations"] for progress in seen if progress] == [[]] * len(case.batches)
    assert any(progress["hotKeys"] for progress in seen if progress)
    assert results_of(query) == case.expected
