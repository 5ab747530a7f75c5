"""`python -m benchmarks.exchanges [rows a step] [steps] [rounds]`: both exchanges on Spark, in turns, on two cores.

An equality join and a band join of two file streams, each step of half the rows of each stream, written to a local
directory. A round runs every combination once, every other round in reverse; a first round warms the JVM up and does
not count. The figures are CPU seconds a step of all processes, the JVM and the Python workers, without the first steps,
and means over the rounds. If the numbers of results differ, the script fails.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import braid

KEYS_PER_ROW, WINDOW, WARM_UP = 4, "5 seconds", 3
PREDICATES = {"equality": "r.k = s.k", "band": "abs(r.v - s.v) <= 0.5"}
EXCHANGES = ("files", "shuffle")


def write_input(place: Path, rows: int, steps: int) -> None:
    """One file of each stream a step, one second of event time each."""
    chance = np.random.default_rng(1)
    for name in ("r", "s"):
        (place / name).mkdir(parents=True)
        for step in range(steps):
            times = np.sort(chance.integers(step * 1_000_000, (step + 1) * 1_000_000, rows // 2))
            table = pa.table(
                {
                    "ts": pa.array(times, pa.timestamp("us", "UTC")),
                    "k": chance.integers(0, KEYS_PER_ROW * rows, rows // 2),
                    "v": chance.random(rows // 2) * KEYS_PER_ROW * rows,
                }
            )
            path = place / name / f"{step:05d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (1_600_000_000 + step, 1_600_000_000 + step))


def run(spark: SparkSession, source: Path, kind: str, exchange: str) -> tuple[float, int, dict[str, Any]]:
    """CPU seconds a step after the first ones, the number of results, and the last progress."""
    reader = spark.readStream.schema("ts timestamp, k bigint, v double").option("maxFilesPerTrigger", 1)
    streams = [
        braid.stream(name, reader.parquet(str(source / name)), time="ts", window=WINDOW, lateness="1 second")
        for name in ("r", "s")
    ]
    query = braid.join(*streams).on(PREDICATES[kind]).select("r.ts AS r", "s.ts AS s", "r.k AS k", "s.v AS v")
    with tempfile.TemporaryDirectory() as place:
        writer = query.writeStream.option("path", f"{place}/out").option("checkpointLocation", f"{place}/state")
        started = writer.option("exchange", exchange).trigger(availableNow=True).start()
        while len(started.recentProgress) < WARM_UP and started.isActive:
            time.sleep(0.01)
        spent, before = cpu_seconds(), len(started.recentProgress)
        started.awaitTermination()
        steps = started.recentProgress
        used = (cpu_seconds() - spent) / (len(steps) - before)
    return used, sum(step["numOutputRows"] for step in steps), steps[-1]


def cpu_seconds() -> float:
    """CPU time of this process and all that it started, the dead ones included."""
    ticks, children = os.sysconf("SC_CLK_TCK"), defaultdict(list)
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            children[int(fields[1])].append(int(entry.name))
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / ticks
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += spent.get(process, 0.0)
        waiting += children[process]
    return total


def main(arguments: list[str]) -> None:
    rows, steps, rounds = (int(given) for given in [*arguments, *("100000", "15", "3")[len(arguments) :]])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    used: dict[tuple[str, str], list[float]] = defaultdict(list)
    results: dict[str, set[int]] = defaultdict(set)
    with tempfile.TemporaryDirectory() as place:
        write_input(Path(place), rows, steps)
        for number in range(rounds + 1):
            for kind in PREDICATES:
                for exchange in EXCHANGES if number % 2 == 0 else EXCHANGES[::-1]:
                    seconds, found, last = run(spark, Path(place), kind, exchange)
                    if number > 0:
                        used[kind, exchange].append(seconds)
                    results[kind].add(found)
                    print(
                        f"{kind:9} {exchange:8} {seconds:.3f} CPU s a step; tasks {last['cpuSeconds']}; reads "
                        f"{last['storeReads']}, writes {last['storeWrites']}, moved {last['bytesMoved']:,} bytes; "
                        f"{last['durationMs']}; {found:,} results",
                        flush=True,
                    )
    for kind in PREDICATES:
        files, shuffle = (statistics.mean(used[kind, exchange]) for exchange in EXCHANGES)
        print(f"{kind}: files {files:.3f}, shuffle {shuffle:.3f} CPU s a step: {shuffle / files:.2f} ×")
        if len(results[kind]) > 1:
            sys.exit(f"the answers differ: {sorted(results[kind])}")


if __name__ == "__main__":
    main(sys.argv[1:])
