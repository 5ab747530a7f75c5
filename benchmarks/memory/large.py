"""Much more state than memory: narrow rows of two streams, the same number a step, and how long the steps take.

The state grows until the end, so a step reads more and more of it; how much the longest steps take beyond the median
tells whether merges and reads stay in bounds.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from braid.optimizer.strategies import Partitioned
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.plan.sizes import format_bytes
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

On = Literal["process", "spark"]
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


def run(large: Large, on: On, directory: str, ready: Callable[[], None]) -> dict[str, Any]:
    """The figures of a run in this process; `ready` is called when there is a worker, and no state to speak of."""
    records = (_on_spark if on == "spark" else _in_process)(large, Path(directory), ready)
    return {**asdict(large), **figures(records)}


def figures(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The median and the 99th percentile of the steps' seconds, and what the last step says."""
    seconds, cpu = ([record[what] for record in records[WARM:]] for what in ("seconds", "cpu"))
    (median, high), (median_cpu, high_cpu) = (np.percentile(one, [50, 99]) for one in (seconds, cpu))
    memory = [record["memory"] for record in records if record["memory"]]
    return {
        "steps": len(records),
        "median": float(median),
        "p99": float(high),
        "ratio": float(high / median),
        "longest": max(seconds),
        "medianCpu": float(median_cpu),
        "p99Cpu": float(high_cpu),
        "ratioCpu": float(high_cpu / median_cpu),
        "longestCpu": max(cpu),
        "stepSeconds": [round(one, 3) for one in seconds],
        "stepCpu": [round(one, 3) for one in cpu],
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


def _in_process(large: Large, place: Path, ready: Callable[[], None]) -> list[dict[str, Any]]:
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
        began, began_cpu = time.monotonic(), time.process_time()
        record = query.run(step, tables) or {}
        records.append({**record, "seconds": time.monotonic() - began, "cpu": time.process_time() - began_cpu})
        _report(records)
        if step == 0:
            ready()
    return records


def _on_spark(large: Large, place: Path, ready: Callable[[], None]) -> list[dict[str, Any]]:
    """The workers of a first step, with few rows and the largest limit, are those of the others."""
    from pyspark.sql import SparkSession

    from benchmarks.memory.on_spark import LARGE, SETTINGS

    small = Large(100, 1, large.units, LARGE if large.limit else 0)
    for asked, own in ((small, place / "small"), (large, place / "input")):
        for step in range(asked.steps):
            for name, table in _rows(asked, step).items():
                (own / name).mkdir(parents=True, exist_ok=True)
                pq.write_table(table, own / name / f"{step:05d}.parquet")
    builder = SparkSession.builder.master(f"local[{SLOTS}]").appName("large")
    for name, value in {**SETTINGS, "spark.local.dir": f"{place}/local"}.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    try:
        _query_on_spark(spark, small, place / "small", place / "first")
        ready()
        return _query_on_spark(spark, large, place / "input", place / "main")
    finally:
        spark.stop()


def _query_on_spark(spark: SparkSession, large: Large, source: Path, place: Path) -> list[dict[str, Any]]:
    import braid

    frames = {
        name: spark.readStream.schema("k bigint, ts timestamp")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(source / name))
        for name in "ab"
    }
    streams = [braid.stream(name, frame, time="ts", window=braid.unbounded) for name, frame in frames.items()]
    query = braid.join(*streams).on("a.k = b.k").using(large.strategy)
    query = query.memory(limit=format_bytes(large.limit)) if large.limit else query
    writer = query.writeStream.format("parquet").option("checkpointLocation", str(place / "checkpoint"))
    run = writer.trigger(availableNow=True).start(str(place / "out"))
    records: dict[int, dict[str, Any]] = {}
    while True:
        ended = run.awaitTermination(5)
        # A run keeps the records of its last hundred steps.
        for record in run.recentProgress:
            if record["batchId"] not in records:
                cpu = sum(record["cpuSeconds"].values())
                records[record["batchId"]] = {**record, "seconds": record["durationMs"]["trigger"] / 1000, "cpu": cpu}
                _report(list(records.values()))
        if ended:
            return [records[step] for step in sorted(records)]


def _report(records: list[dict[str, Any]]) -> None:
    last = records[-1]
    if len(records) % REPORTED == 0:
        print(
            f"step {len(records)}: {last['seconds']:.2f} s, {last['stateRows']:,} rows, {last['stateBlocks']} blocks, "
            f"peak {last['memory'].get('peak', 0) >> 20} MB",
            file=sys.stderr,  # a parent reads what is printed
            flush=True,
        )
