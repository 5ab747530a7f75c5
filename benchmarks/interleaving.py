"""`python -m benchmarks.interleaving`: joins of 3, 5 and 7 streams with small batches, rounds interleaved and not.

Batches of 1,000 rows over all streams, on Spark with two slots. A row has half a partner in each other stream on
average (λWσ = 0.5), so that results do not multiply. Runs with and without `interleave` alternate; both have the same
number of results, or the script fails. The rate counts the rows after the first batches, up to the end of the step that
runs the last rounds.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import braid

ROWS, BATCHES, WARM, ROUNDS = 1_000, 40, 8, 3
STREAMS = (3, 5, 7)
BATCH_US = 1_000_000
WINDOW_BATCHES = 10
PARTNERS = 0.5
FIRST_MTIME = 1_700_000_000


def write_input(directory: Path, streams: int, batches: int = BATCHES) -> None:
    """A file per batch and stream."""
    chance, rows = np.random.default_rng(streams), ROWS // streams
    keys = round(rows * WINDOW_BATCHES / PARTNERS)
    for stream in range(streams):
        for batch in range(batches):
            times = np.sort(chance.integers(batch * BATCH_US, (batch + 1) * BATCH_US, rows))
            table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": chance.integers(0, keys, rows)})
            path = directory / f"s{stream}" / f"{batch:04d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            os.utime(path, (FIRST_MTIME + batch, FIRST_MTIME + batch))


def run(spark: SparkSession, directory: Path, streams: int, interleave: int) -> tuple[float, int]:
    """Rows a second after the first batches, and all results."""
    inputs = [
        braid.stream(f"s{n}", _source(spark, directory / f"s{n}"), time="ts", window=f"{WINDOW_BATCHES} seconds")
        for n in range(streams)
    ]
    query = braid.join(*inputs).on(" AND ".join(f"s{n}.k = s{n + 1}.k" for n in range(streams - 1)))
    query = query.select(*(f"s{n}.k AS k{n}" for n in range(streams)), "result_time")
    query = query.using(braid.TimeSliced(interleave=interleave))
    with tempfile.TemporaryDirectory() as place:
        writer = query.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
        started = writer.trigger(availableNow=True).start(f"{place}/out")
        started.awaitTermination()
        records = started.recentProgress
        results = spark.read.parquet(f"{place}/out").count()
    began = next(record for record in records if record["sparkBatchId"] == WARM)
    last = records[-1]
    seconds = (_time(last) - _time(began)).total_seconds() + last["durationMs"]["trigger"] / 1000
    rows = sum(record["numInputRows"] for record in records if record["batchId"] >= began["batchId"])
    return rows / seconds, results


def _time(record: dict[str, object]) -> datetime:
    return datetime.fromisoformat(str(record["timestamp"]))


def _source(spark: SparkSession, directory: Path) -> DataFrame:
    reader = spark.readStream.schema("ts timestamp, k bigint").option("maxFilesPerTrigger", 1)
    return reader.parquet(str(directory))


def compare(spark: SparkSession, directory: Path, streams: int) -> list[float]:
    """By how much interleaving raises the rate, in each round."""
    ratios = []
    for number in range(ROUNDS):
        (plain, results), (interleaved, same) = (run(spark, directory, streams, n) for n in (1, streams - 1))
        if results != same:
            sys.exit(f"the answers differ: {results} and {same} rows")
        ratios.append(interleaved / plain)
        print(
            f"{streams} streams, round {number + 1}: {plain:,.0f} rows/s, interleaved {interleaved:,.0f} rows/s: "
            f"{ratios[-1]:.2f} times; {results:,} results",
            flush=True,
        )
    return ratios


def main() -> None:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").appName("interleaving").config("spark.log.level", "ERROR")
    off = ("spark.ui.enabled", "spark.ui.showConsoleProgress")
    for key, value in (*((key, "false") for key in off), ("spark.sql.session.timeZone", "UTC")):
        builder = builder.config(key, value)
    spark = builder.config("spark.python.unix.domain.socket.enabled", "true").getOrCreate()
    chosen = [int(argument) for argument in sys.argv[1:]] or list(STREAMS)
    for streams in chosen:
        with tempfile.TemporaryDirectory() as directory:
            write_input(Path(directory), streams)
            ratios = compare(spark, Path(directory), streams)
        print(f"{streams} streams: {statistics.median(ratios):.2f} times, {min(ratios):.2f} to {max(ratios):.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
