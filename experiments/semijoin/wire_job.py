"""A driver on a cluster across network namespaces: joins wide rows by an algorithm, and says what the engine counted.

Run as a process of its own, since its session has the master of the cluster. It waits for a line before every run, so
that the kernel's counters are read between runs.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import braid

SCHEMA = "ts timestamp, k bigint, text string"
TEXT_BYTES = 1200
# One row in ten has a partner.
PARTNERS = 10
APART = 1_000_000_000
FIRST_US, FIRST_MTIME = 1_700_000_000_000_000, 1_700_000_000


def write_input(place: Path, sizes: Sequence[int], text_bytes: int) -> None:
    """Batches of both streams: rows of a batch have other keys than those before, and every tenth is in both."""
    for number, name in enumerate("ab"):
        (place / name).mkdir(parents=True)
        for batch, rows in enumerate(sizes):
            keys = [sum(sizes[:batch]) + n for n in range(rows)]
            keys = [key if key % PARTNERS == 0 else key + number * APART for key in keys]
            times = pa.array([FIRST_US + 1_000_000 * batch + n for n in range(rows)], pa.timestamp("us", "UTC"))
            table = pa.table({"ts": times, "k": keys, "text": ["x" * text_bytes] * rows})
            path = place / name / f"{batch:04d}.parquet"
            pq.write_table(table, path)
            os.utime(path, (FIRST_MTIME + batch, FIRST_MTIME + batch))


def run_join(
    spark: SparkSession, place: Path, hosts: dict[str, str], algorithm: str, input_place: Path
) -> dict[str, object]:
    """Join all batches; what the engine counted, and how long the steps took."""
    sites = [braid.Site(site, hosts=[host], storage=str(place / "sites" / site)) for site, host in hosts.items()]
    frames = (
        spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(input_place / name))
        for name in "ab"
    )
    made = [
        braid.stream(name, frame, time="ts", window="1 minute", site=site)
        for name, frame, site in zip("ab", frames, sites, strict=True)
    ]
    query = braid.join(*made).on("a.k = b.k").select("octet_length(a.text) AS a", "octet_length(b.text) AS b")
    writer = query.using(braid.Semijoin(algorithms=algorithm)).writeStream.format("noop")
    begun = time.monotonic()
    run = writer.option("checkpointLocation", f"file://{place}/checkpoint").trigger(availableNow=True).start()
    run.awaitTermination()
    progress = run.recentProgress
    return {
        "seconds": time.monotonic() - begun,
        "results": sum(int(step["numOutputRows"]) for step in progress),
        "links": [step["links"] for step in progress],
    }


def main(place: Path, settings: dict[str, str], hosts: dict[str, str], runs: list[tuple[str, str]]) -> None:
    """Every run of (algorithm, input), once a line was read."""
    builder = SparkSession.builder.config("spark.ui.enabled", "false").config("spark.braid.siteWaitSeconds", "5")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    print(json.dumps({"ready": True}), flush=True)
    for number, (algorithm, given) in enumerate(runs):
        sys.stdin.readline()
        found = run_join(spark, place / f"run-{number}", hosts, algorithm, place / "input" / given)
        print(json.dumps({"run": number, **found}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *map(json.loads, sys.argv[2:5]))
