"""The framing that the cost model assumes, beside encoded messages."""

from __future__ import annotations

import json
from dataclasses import astuple

import pyarrow as pa
import pytest

from braid.engine.tasks.sites.messages import Topic, encoded
from braid.optimizer.semijoins.costs import OneWayJoin, one_way_cost
from braid.optimizer.semijoins.framing import ARROW_FRAMING, NO_FRAMING, Framing
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm


def framing_of(batch: pa.RecordBatch) -> int:
    return len(encoded(batch)) + len(json.dumps(astuple(Topic("copied", copy=3, new=True)))) - batch.nbytes


@pytest.mark.parametrize("columns", [1, 2, 3, 6, 12])
def test_framing_is_a_constant_and_a_term_for_each_column(columns: int) -> None:
    """Numbers and texts in turn, as rows have them."""
    values = [pa.array([1, 2, 3]), pa.array(["a", "b", "c"])]
    batch = pa.RecordBatch.from_pydict({f"s1.column{n}": values[n % 2] for n in range(columns)})
    assert framing_of(batch) == pytest.approx(ARROW_FRAMING.of(columns), rel=0.15)


def test_more_rows_have_little_more_framing() -> None:
    few, many = (pa.RecordBatch.from_pydict({"v0": pa.array(range(rows))}) for rows in (1, 5000))
    assert framing_of(many) == pytest.approx(framing_of(few), abs=64)


def test_the_framing_of_a_second_is_that_of_its_messages() -> None:
    key = JoinAttribute("a", 10, 8)
    wide = StreamStatistics("r", "r", 1000, 500, 2.0, (key,), columns=7)
    narrow = StreamStatistics("s", "s", 1000, 500, 2.0, (key,), columns=2)
    framing = Framing(100.0, 10.0)
    sent = one_way_cost(Algorithm.SP_D, OneWayJoin(wide, narrow, 0.1, framing)).forward
    assert sent.framing_per_second == pytest.approx(10 * (100 + 70))
    copied = one_way_cost(Algorithm.SP_S, OneWayJoin(wide, narrow, 0.1, framing)).backward
    assert copied.framing_per_second == pytest.approx(10 * (100 + 20))
    asked = one_way_cost(Algorithm.SM_D2, OneWayJoin(wide, narrow, 0.1, framing))
    assert asked.forward.framing_per_second == pytest.approx(10 * (110 + 170))
    assert asked.backward.framing_per_second == pytest.approx(10 * 110)
    assert one_way_cost(Algorithm.SM_D2, OneWayJoin(wide, narrow, 0.1, NO_FRAMING)).forward.framing_per_second == 0
