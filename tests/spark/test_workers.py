"""Python workers are kept from job to job and from step to step: starting one takes longer than a small step."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import braid
from tests.oracle.feeds import Feed, Place, at

STEPS = 12


class Noting:
    """True for every pair, noting in a directory which process was asked."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __call__(self, left: pa.Array, right: pa.Array) -> np.ndarray:
        (self._directory / str(os.getpid())).touch()
        return np.ones(len(left), bool)


@pytest.mark.parametrize("predicate", ["o.k = q.k", "bit_count(o.k) = bit_count(q.k)"], ids=["in Python", "in the JVM"])
def test_jobs_of_all_steps_share_their_workers(
    spark: SparkSession, place: Place, tmp_path: Path, predicate: str
) -> None:
    """Two slots: two workers at once, or four where Python runs before and after the JVM.

    A task may begin before the worker of the last one is free again, so there may be a few more. If each job started
    its own, there would be two for every step.
    """
    feeds = [Feed(spark, tmp_path / "input" / name, "id bigint, ts timestamp, k int") for name in "oq"]
    for step in range(STEPS):
        for feed in feeds:
            feed.add(*((10 * step + n, at(step), n) for n in range(8)))
    noted = tmp_path / "noted"
    noted.mkdir()
    streams = [braid.stream(n, f.stream, time="ts", window="1 hour") for n, f in zip("oq", feeds, strict=True)]
    joined = braid.join(*streams).on(braid.udf(Noting(noted), "o.id", "q.id")).on(predicate)
    run = place.run(joined.select("o.id AS o", "q.id AS q").using(braid.Biclique(units=2)))
    assert len(run.recentProgress) == STEPS
    assert 0 < len(list(noted.iterdir())) <= STEPS
