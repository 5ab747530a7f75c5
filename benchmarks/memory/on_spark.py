"""The same query on Spark, with real workers: two slots of one machine, a file of each stream for every batch."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import braid
from benchmarks.memory.in_process import totals_of
from benchmarks.memory.scenarios import SLOTS, Scenario, batch
from braid.plan.sizes import format_bytes

ROWS = 50_000
LARGE = 1 << 32
SCHEMA = "k bigint, p string, ts timestamp"
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.session.timeZone": "UTC",
}


def run(
    directory: str, scenario: Scenario, limit: int, steps: int, ready: Callable[[], None], workers: str = ""
) -> dict[str, Any]:
    """All batches and the deferred results, after a small query in the same workers that only imports.

    The workers may be in the cgroup `workers`.
    """
    place = Path(directory)
    if workers:
        os.environ["PYSPARK_PYTHON"] = str(_joining(place / "python", workers))
    write_input(place / "small", scenario, 1, 100)
    write_input(place / "input", scenario, steps, ROWS)
    with redirect_stdout(sys.stderr):
        builder = SparkSession.builder.master(f"local[{SLOTS}]").appName("memory")
        for name, value in {**SETTINGS, "spark.local.dir": f"{directory}/local"}.items():
            builder = builder.config(name, value)
        spark = builder.getOrCreate()
    try:
        # Workers under a limit are not those of other queries.
        _run(spark, place / "small", place / "first", scenario, LARGE if limit else 0)
        ready()
        began = time.monotonic()
        records = _run(spark, place / "input", place / "main", scenario, limit)
        return {"seconds": time.monotonic() - began, "cpu": _cpu(records), "steps": steps, "rows": ROWS} | totals_of(
            records
        )
    finally:
        spark.stop()


def _joining(script: Path, group: str) -> Path:
    """A Python that moves itself into a cgroup."""
    script.write_text(f'#!/bin/sh\necho $$ > "{group}/cgroup.procs" && exec "{sys.executable}" "$@"\n')
    script.chmod(0o755)
    return script


def write_input(place: Path, scenario: Scenario, steps: int, rows: int) -> None:
    for name in "ab":
        (place / name).mkdir(parents=True)
    for step in range(steps):
        for name, table in batch(step, rows, scenario.partners).items():
            pq.write_table(table, place / name / f"{step:05d}.parquet")


def _run(spark: SparkSession, source: Path, place: Path, scenario: Scenario, limit: int) -> list[dict[str, Any]]:
    streams = [braid.stream(name, _frame(spark, source / name), time="ts", window=braid.unbounded) for name in "ab"]
    join = braid.join(*streams).on("a.k = b.k").using(scenario.strategy)
    if scenario.shape == "ordered":
        join = join.ordered()
    query = join.groupBy("a.p").agg("count(*) AS n") if scenario.shape == "totals" else join
    if limit:
        query = query.memory(limit=format_bytes(limit), overflow=scenario.overflow, spill_at=scenario.spill_at)
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    run = writer.trigger(availableNow=True).start(str(place / "out"))
    run.awaitTermination()
    return run.recentProgress


def _frame(spark: SparkSession, source: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(source))


def _cpu(records: list[dict[str, Any]]) -> float:
    return sum(sum(record["cpuSeconds"].values()) for record in records)
