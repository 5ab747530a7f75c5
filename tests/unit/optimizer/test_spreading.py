"""The closed forms of what a layout costs, against the figures of the analysis and against counted rows and bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.optimizer.build import build_plan
from braid.optimizer.spreading import copies, scaling_gain, sent_bytes, stored_bytes, units_to_grow
from braid.optimizer.strategies import Biclique, Matrix, Partitioned, Strategy
from braid.plan.layout import Layout
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

MATRIX = Layout(0, "matrix", (4, 4), (1, 1))
RANDOM = Layout(0, "biclique", (8, 8), (1, 1))
CONTRAND = Layout(0, "biclique", (8, 8), (4, 4))


def test_a_matrix_stores_what_a_biclique_stores_once_for_every_line_across() -> None:
    assert stored_bytes(RANDOM, (10, 20)) == 30
    assert stored_bytes(MATRIX, (10, 20)) == 120
    assert stored_bytes(Layout(0, "matrix", (2, 5), (1, 1)), (10, 20)) == 5 * 10 + 2 * 20


def test_random_routing_sends_a_row_to_the_whole_other_side_and_contrand_to_a_subgroup() -> None:
    assert sent_bytes(RANDOM, (1, 1)) == 2 * (8 + 1)
    assert sent_bytes(CONTRAND, (1, 1)) == 2 * (8 / 4 + 1)
    assert sent_bytes(MATRIX, (1, 1)) == 2 * 4
    assert sent_bytes(Layout(0, "biclique", (6, 4), (3, 2)), (10, 100)) == (4 / 2 + 1) * 10 + (6 / 3 + 1) * 100


def test_what_a_new_unit_gains() -> None:
    assert scaling_gain(RANDOM, 0, 100, (1000, 1000)) == 1
    assert scaling_gain(MATRIX, 0, 100, (0, 200)) == 1 - 200 / 4 / 100
    assert scaling_gain(MATRIX, 1, 100, (200, 0)) == 1 - 200 / 4 / 100
    assert [units_to_grow(layout, 0) for layout in (RANDOM, MATRIX)] == [1, 4]


@pytest.mark.parametrize(
    "strategy",
    [
        Partitioned(4),
        Biclique((8, 8)),
        Biclique((8, 8), 4),
        Biclique((6, 4), (3, 2)),
        Biclique((4, 4), 4),
        Matrix(4, 4),
        Matrix(2, 5),
    ],
    ids=str,
)
def test_counted_rows_and_bytes_are_those_of_the_equations(strategy: Strategy, tmp_path: Path) -> None:
    draft = Draft()
    r = draft.stream("r", {"k": "bigint", "v": "double"}, window_us=None)
    s = draft.stream("s", {"k": "bigint", "v": "double"}, window_us=None)
    draft.on(equal(r["k"], s["k"]))
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=strategy, slots=3)
    random = np.random.default_rng(5)
    counts = (40_000, 20_000)
    tables = {
        name: pa.table(
            {
                "k": random.integers(0, 100_000, count),
                "v": random.random(count),
                "ts": pa.array(np.arange(count), pa.timestamp("us", "UTC")),
            }
        )
        for name, count in zip("rs", counts, strict=True)
    }
    progress = query.run(0, tables)
    assert progress is not None
    layout = strategy.layout(build_plan(draft.logical_plan()), 3)
    assert progress["stateRows"] == sum(count * copies(layout, number) for number, count in enumerate(counts))
    assert progress["stateRows"] == sum(unit["rowsStored"] for unit in progress["units"])
    row_bytes = progress["stateBytes"] / progress["stateRows"]
    rates = [count * row_bytes for count in counts]
    assert progress["stateBytes"] == pytest.approx(stored_bytes(layout, rates))
    assert progress["bytesModelled"] == pytest.approx(sent_bytes(layout, rates), rel=0.05)
