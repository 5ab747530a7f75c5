"""The current totals of aggregations, from the committed view, against results counted one by one.

The results come from the same join without an aggregation.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import aggregate_state
from braid.control.ordering import Ordering
from braid.engine.tasks.aggregate import partials
from braid.engine.tasks.aggregate.totals import StoredAggregation, block_opener, part_totals
from braid.kernels import sizes
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.state.cache import LocalCopies
from braid.state.manifest import AggregateState
from braid.testing import InlineQuery
from tests.budget import seeds
from tests.properties.aggregates import Asked, Row, batches_of, draft, random_aggregation, rows_of, values_of

SEEDS = seeds(17_000, 10)


@pytest.fixture(autouse=True)
def cramped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few rows are held, and few parts, so that small cases pass every way."""
    monkeypatch.setattr(partials, "MAX_BUFFERED_ROWS", 5)
    monkeypatch.setattr(aggregate_state, "MIN_PARTS", 3)


def aggregation(chance: random.Random) -> Asked:
    while True:
        asked = random_aggregation(chance)
        if asked.calls is not None:
            return asked


# All groups in one piece, or a few rows in each.
PIECES = (sizes.PIECE_BYTES, 1500)


def totals_of(query: InlineQuery, logical_plan: LogicalPlan) -> pa.Table:
    """All parts together."""
    assert logical_plan.aggregation is not None
    view = query.steps.manifest.aggregate or AggregateState(parts=1)
    reader = block_opener(LocalCopies(query.checkpoint.files, ""), f"{query.checkpoint.path}/blocks")
    read = StoredAggregation(logical_plan.aggregation, logical_plan.sink_schema)
    parts = [batch for part in range(view.parts) for batch in part_totals(read, view, part, reader)]
    return pa.Table.from_batches(parts, logical_plan.sink_schema)


def counted(asked: Asked, results: pa.Table, until_us: int | None) -> Counter[Row]:
    """The groups of the results up to a time, with their values."""
    place = {name: number for number, name in enumerate(results.schema.names)}
    rows = list(rows_of(results).elements())
    if until_us is not None:
        rows = [row for row in rows if _us(row[-1]) <= until_us]
    newest = max((_us(row[-1]) for row in rows), default=0)
    groups: dict[Row, list[Row]] = defaultdict(list)
    if not asked.groups:
        groups[()] = []
    for row in rows:
        if asked.over_us is None or _us(row[-1]) >= newest - asked.over_us:
            groups[tuple(row[place[name]] for name in asked.groups)].append(row)
    return Counter((*group, *values_of(asked, place, found)) for group, found in groups.items())


def _us(time: Any) -> int:
    return round(time.timestamp() * 1_000_000)


def rounded(rows: Counter[Row]) -> Counter[Row]:
    return Counter(
        tuple(round(value, 9) if isinstance(value, float) else value for value in row) for row in rows.elements()
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_totals_are_those_of_all_results(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(sizes, "PIECE_BYTES", chance.choice(PIECES))
    asked, by_key, batches = aggregation(chance), chance.random() < 0.7, batches_of(chance)
    plain_query = InlineQuery(draft(None, by_key).logical_plan(), str(tmp_path / "plain"))
    logical_plan = draft(asked, by_key).logical_plan()
    limits = random.Random(f"memory {seed}").choice((None, MemoryLimit(2_000)))
    summed = InlineQuery(logical_plan, str(tmp_path / "summed"), slots=chance.randint(1, 3), limits=limits)
    for number in range(-1, len(batches)):
        if number >= 0:
            plain_query.run(number, batches[number])
            summed.run(number, batches[number])
        found = rounded(rows_of(totals_of(summed, logical_plan)))
        expected = rounded(counted(asked, plain_query.published(), None))
        assert found == expected, f"step {number} of {asked}\nextra {found - expected}\nmissing {expected - found}"


@pytest.mark.parametrize("seed", SEEDS)
def test_ordered_totals_are_those_of_released_results(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(sizes, "PIECE_BYTES", chance.choice(PIECES))
    asked, by_key, batches = aggregation(chance), chance.random() < 0.7, batches_of(chance)
    plain_query = InlineQuery(draft(None, by_key).logical_plan(), str(tmp_path / "plain"))
    logical_plan = draft(asked, by_key).ordered().logical_plan()
    policy: Any = chance.choice(("sync-filter", "filter-order"))
    limits = random.Random(f"memory {seed}").choice((None, MemoryLimit(2_000)))
    ordering = Ordering(policy, 0.3)
    summed = InlineQuery(logical_plan, str(tmp_path / "summed"), slots=2, ordering=ordering, limits=limits)
    for number, tables in enumerate(batches):
        plain_query.run(number, tables)
        summed.run(number, tables)
        waiting = summed.steps.manifest.order_state
        until = -(1 << 60) if waiting is None or waiting.frontier_us is None else waiting.frontier_us
        table = totals_of(summed, logical_plan)
        found = rounded(rows_of(table.drop_columns(["result_time"])))
        expected = rounded(counted(asked, plain_query.published(), until))
        assert found == expected, f"step {number} of {asked}\nextra {found - expected}\nmissing {expected - found}"
        released = [_us(row[-1]) for row in rows_of(plain_query.published()) if _us(row[-1]) <= until]
        newest = max(released, default=None)
        assert {None if time is None else _us(time) for time in table["result_time"].to_pylist()} <= {newest}
