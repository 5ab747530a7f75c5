"""The runs of time-sliced joins on Spark, tiny: all strategies find the same, and say what they took."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from experiments.psp.engine_runs import Chain
from experiments.psp.on_spark import FEW, INTERLEAVED, RING, SHORT, strategies
from experiments.psp.spark_runs import Runner

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_strategies_run_in_turn_and_find_the_same(spark: SparkSession, tmp_path: Path) -> None:
    chosen = {name: strategy for name, strategy in strategies(3).items() if name in (INTERLEAVED, SHORT, FEW)}
    found = Runner(spark, tmp_path).in_turn(Chain(3, 20, 3.0), chosen, batches=1, rounds=1)
    assert list(found) == [INTERLEAVED, SHORT, FEW]
    ((ring,), (aligned,), (coordinated,)) = found.values()
    assert ring["results"] == aligned["results"] == coordinated["results"] > 0
    assert ring["copies"] == 0 < min(aligned["copies"], coordinated["copies"])
    assert ring["rows"] == aligned["rows"] == 12
    for run in (ring, aligned, coordinated):
        assert run["seconds"] >= run["step"] > 0
        assert run["pairs_a_row"] > 5
        assert 0.5 <= run["busiest_of_a_step"] <= 1
    assert list(tmp_path.iterdir()) == []
    assert RING in strategies(9)
