"""A replay of in-order execution on Spark, tiny, two queries at once: every row of the faster stream has a response."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.in_order.replay import FAST_RATE, Pacing, Replay, Replayer, responses
from experiments.in_order.timed import summed_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_every_row_that_was_emitted_has_a_response(spark: SparkSession, tmp_path: Path) -> None:
    pacing = Pacing(seconds=5.0, warm_up=3.0)  # a busy machine takes a second or two to start
    replay = Replay(cost=0.00001, turn=1.0, policy="filter-order", queries=2, burning="cpu")
    queries = Replayer(spark, tmp_path).run(replay, pacing)
    assert len(queries) == 2
    for steps in queries:
        found = responses(steps, turn=1.0, pacing=pacing)
        assert len(found) == 2 * FAST_RATE
        assert min(found) > 0
    timed = summed_up(queries, turn=1.0, pacing=pacing)
    assert 0 < timed["p50"] <= timed["p99"]
    assert timed["buffers"] == "results"
    assert timed["waiting"]["rows"] == 0
    assert timed["waiting"]["result_bytes"] > 0
    assert list(tmp_path.iterdir()) == []
