"""Much more state than memory: narrow rows of two streams, the same number a step, and how long the steps take.

The state grows until the end, so a step reads more and more of it; how much the longest steps take beyond the median
tells whether merges and reads stay in bounds.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.memory.measuring import On
from braid.optimizer.strategies import Partitioned
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.plan.sizes import format_bytes
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

SLOTS = 2
# The first steps import modules and fill no blocks.
WARM = 5
# At the end one row in ten has a partner: what grows is the state, not the results.
KEYS_PER_ROW = 10
REPORTED = 10


@dataclass(frozen=True)
class Large:
    """How many rows of each stream there are in the end, in how many steps, and the limit of each unit; 0: none."""

    rows: int
    steps: int
    units: int
    limit: int

    @property
    def rows_a_step(self) -> int:
        return self.rows // self.steps

    @property
    def strategy(self) -> Partitioned:
        return Partitioned(units=self.units)


def measure(large: Large, on: On, scratch: str | None) -> list[dict[str, Any]]:
    """The records of all steps."""
    with tempfile.TemporaryDirectory(dir=scratch) as directory:
        run = _on_spark if on == "spark" else _in_process
        return run(large, Path(directory))


def figures(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The median and the 99th percentile of the steps' seconds, and what the last step says."""
    seconds = [record["seconds"] for record in records[WARM:]]
    median, high = np.percentile(seconds, [50, 99])
    memory = [record["memory"] for record in records if record["memory"]]
    return {
        "steps": len(records),
        "median": float(median),
        "p99": float(high),
        "ratio": float(high / median),
        "longest": max(seconds),
        "results": sum(record["numOutputRows"] for record in records),
        "stateRows": records[-1]["stateRows"],
        "stateBytes": records[-1]["stateBytes"],
        "peak": max((record["peak"] for record in memory), default=0),
        "deviceBytes": sum(record["deviceBytes"] for record in memory),
        "majorFaults": sum(record["majorFaults"] for record in memory),
    }


def _rows(large: Large, step: int) -> dict[str, pa.Table]:
    chance, count = np.random.default_rng(step), large.rows_a_step
    times = pa.array(np.arange(count) + step * count, pa.timestamp("us", "UTC"))
    return {name: pa.table({"k": chance.integers(0, KEYS_PER_ROW * large.rows, count), "ts": times}) for name in "ab"}


def _plan() -> LogicalPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint"}, window_us=None) for name in "ab")
    return draft.on(equal(a["k"], b["k"])).logical_plan()


def _in_process(large: Large, place: Path) -> list[dict[str, Any]]:
    limits = MemoryLimit(large.limit) if large.limit else None
    query = InlineQuery(
        _plan(),
        str(place),
        strategy=large.strategy,
        slots=SLOTS,
        ingest_tasks=SLOTS,
        rows_per_batch=10_000,
        limits=limits,
    )
    records = []
    for step in range(large.steps):
        tables = _rows(large, step)
        began = time.monotonic()
        record = query.run(step, tables) or {}
        records.append({**record, "seconds": time.monotonic() - began})
        _report(records)
    return records


def _on_spark(large: Large, place: Path) -> list[dict[str, Any]]:
    from pyspark.sql import SparkSession

    import braid
    from benchmarks.memory.on_spark import SETTINGS

    for name in "ab":
        (place / name).mkdir()
    for step in range(large.steps):
        for name, table in _rows(large, step).items():
            pq.write_table(table, place / name / f"{step:05d}.parquet")
    builder = SparkSession.builder.master(f"local[{SLOTS}]").appName("large")
    for name, value in {**SETTINGS, "spark.local.dir": f"{place}/local"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    frames = {
        name: spark.readStream.schema("k bigint, ts timestamp")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(place / name))
        for name in "ab"
    }
    streams = [braid.stream(name, frame, time="ts", window=braid.unbounded) for name, frame in frames.items()]
    query = braid.join(*streams).on("a.k = b.k").using(large.strategy)
    query = query.memory(limit=format_bytes(large.limit)) if large.limit else query
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    run = writer.trigger(availableNow=True).start(str(place / "out"))
    records: dict[int, dict[str, Any]] = {}
    try:
        while True:
            ended = run.awaitTermination(5)
            # A run keeps the records of its last hundred steps.
            for record in run.recentProgress:
                if record["batchId"] not in records:
                    records[record["batchId"]] = {**record, "seconds": record["durationMs"]["trigger"] / 1000}
                    _report(list(records.values()))
            if ended:
                return [records[step] for step in sorted(records)]
    finally:
        spark.stop()


def _report(records: list[dict[str, Any]]) -> None:
    last = records[-1]
    if len(records) % REPORTED == 0:
        print(
            f"step {len(records)}: {last['seconds']:.2f} s, {last['stateRows']:,} rows, {last['stateBlocks']} blocks, "
            f"peak {last['memory'].get('peak', 0) >> 20} MB",
            flush=True,
        )
