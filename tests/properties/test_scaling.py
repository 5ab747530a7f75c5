"""Units that come and go while a query runs: the results are those of a query that never scaled."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.control import compaction
from braid.control.elasticity import Elasticity
from braid.engine.tasks.merging import slices
from braid.optimizer.strategies import Biclique, Matrix, Strategy, TimeSliced
from braid.plan.layout import Adapt
from braid.state.files import LocalFiles
from braid.testing import Draft, FailingFiles, InjectedCrash, InlineQuery, ManualClock
from braid.testing.expressions import equal, less_or_equal
from tests.budget import seeds
from tests.properties.cases import some_exchange

SEEDS = seeds(9200, 12)
CRASHED = seeds(9300, 8)

Batches = list[dict[str, pa.Table]]


def draft(by_key: bool, window_us: int | None) -> Draft:
    written = Draft()
    r = written.stream("r", {"k": "bigint"}, window_us=window_us, lateness_us=0)
    s = written.stream("s", {"k": "bigint"}, window_us=window_us, lateness_us=0)
    return written.on(equal(r["k"], s["k"]) if by_key else less_or_equal(r["k"], s["k"]))


def batches_of(chance: random.Random) -> Batches:
    """A load that rises, stays, and falls."""
    random_ = np.random.default_rng(chance.randrange(1 << 30))
    counts = [20] * 4 + [chance.randint(60, 90)] * 6 + [8] * 6
    batches: Batches = []
    for number, count in enumerate(counts):
        batches.append(
            {
                name: pa.table(
                    {
                        "ts": pa.array(
                            np.sort(random_.integers(0, 10, count)) + 10 * number, pa.timestamp("us", "UTC")
                        ),
                        "k": random_.integers(0, 12, count),
                    }
                )
                for name in "rs"
            }
        )
    return batches


def rows_of(query: InlineQuery) -> pa.Table:
    """Every result and how often it occurs, sorted; compared as arrays, because there are up to 200,000 of them."""
    table = query.published()
    counted = table.group_by(table.column_names).aggregate([([], "count_all")])
    return counted.sort_by([(name, "ascending") for name in table.column_names])


def elastic(chance: random.Random, window_us: int | None) -> Elasticity:
    """Units so small that rows that are kept forever ask for more of them; those of windows may ask for fewer too."""
    return Elasticity(
        low=0.3,
        high=0.8,
        target=0.6,
        patience=chance.randint(1, 2),
        period_ms=1,
        capacity_bytes=chance.choice((1_000, 2_000, 3_000) if window_us is None else (2_000, 4_000, 9_000)),
        min_units=1,
        max_units=8 if window_us is None else chance.choice((None, 6)),
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_results_do_not_depend_on_scaling(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(compaction, "LEAST_ROWS", chance.choice((30, 1_000_000)))
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)
    by_key, window = chance.random() < 0.6, chance.choice((30, 30, None))
    logical_plan = draft(by_key, window).logical_plan()
    strategy: Strategy = Biclique((4, 4), (2, 2)) if by_key else Biclique((3, 2))
    if seed % 3 == 0:
        adapt: Adapt = chance.choice(("off", "passive", "aggressive"))
        strategy = TimeSliced(
            3, chance.choice(("auto", {"r": 1})), slicing=chance.choice(("time", "count")), adapt=adapt
        )
    clock = ManualClock(0)
    scaled = InlineQuery(
        logical_plan,
        str(tmp_path / "scaled"),
        strategy=strategy,
        slots=2,
        clock=clock,
        elasticity=elastic(chance, window),
        exchange=some_exchange(logical_plan, random.Random(seed)),
    )
    fixed = InlineQuery(logical_plan, str(tmp_path / "fixed"), strategy=Biclique((1, 1)), slots=1)
    adaptations: list[str] = []
    for number, tables in enumerate(batches_of(chance)):
        clock.now_ms += 10
        progress = scaled.run(number, tables)
        assert progress is not None
        adaptations += progress["adaptations"]
        fixed.run(number, tables)
    assert adaptations
    assert rows_of(scaled) == rows_of(fixed)
    if window is None:
        epochs = {block.epoch for block in scaled.steps.manifest.blocks}
        assert len(epochs) <= 2 or compaction.LEAST_ROWS == 30
        assert scaled.steps.manifest.layout.epoch in epochs


@pytest.mark.parametrize("seed", CRASHED)
def test_a_crash_in_the_middle_of_a_scaling_changes_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    window = chance.choice((30, None))
    logical_plan = draft(by_key=True, window_us=window).logical_plan()
    batches, settings = batches_of(chance), elastic(chance, window)
    fixed = InlineQuery(logical_plan, str(tmp_path / "fixed"), strategy=Biclique((1, 1)), slots=1)
    for number, tables in enumerate(batches):
        fixed.run(number, tables)
    clock, batch, crashes = ManualClock(0), 0, 0
    while batch < len(batches):
        files = FailingFiles(LocalFiles(), chance.randint(5, 40) if crashes < 25 else None, "before")
        try:
            query = InlineQuery(
                logical_plan,
                str(tmp_path / "scaled"),
                strategy=TimeSliced(4, adapt="aggressive") if seed % 3 == 0 else Biclique((4, 4), (2, 2)),
                files=files,
                clock=clock,
                elasticity=settings,
                exchange=some_exchange(logical_plan, chance),
            )
            batch = max(batch, query.last_batch + 1)
            while batch < len(batches):
                clock.now_ms += 10
                query.run(batch, batches[batch])
                batch += 1
        except InjectedCrash:
            crashes += 1
    assert crashes > 3
    assert query.steps.manifest.layout.epoch > 0
    assert rows_of(query) == rows_of(fixed)


@pytest.mark.parametrize("window_us", [30, None])
def test_a_matrix_grows_by_rows_and_columns_and_its_copies_with_it(window_us: int | None, tmp_path: Path) -> None:
    chance = random.Random(5)
    logical_plan = draft(by_key=False, window_us=window_us).logical_plan()
    batches = batches_of(chance)
    shapes: list[Strategy] = [Matrix(2, 2), Matrix(3, 2), Matrix(3, 3), Matrix(2, 3)]
    fixed = InlineQuery(logical_plan, str(tmp_path / "fixed"), strategy=Biclique((1, 1)), slots=1)
    for number, tables in enumerate(batches):
        fixed.run(number, tables)
        shape = shapes[number * len(shapes) // len(batches)]
        grown = InlineQuery(logical_plan, str(tmp_path / "grown"), strategy=shape, slots=2)
        grown.run(number, tables)
    assert rows_of(grown) == rows_of(fixed)
    assert {block.epoch for block in grown.steps.manifest.blocks} == {3}
    if window_us is None:
        counts = [sum(tables[name].num_rows for tables in batches) for name in "rs"]
        stored = [sum(block.rows for block in grown.steps.manifest.blocks if block.stream == n) for n in (0, 1)]
        assert stored == [counts[0] * 3, counts[1] * 2]
