"""A child program: an elastic query on a cluster that starts with one executor and may have three.

    python -m tests.recovery.growing PLACE

Rows are fed, a file a step, until a task has run in a third slot; what the run said is printed as JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.recovery.job import SCHEMA, SMALL
from tests.session import start_session

MASTER = "local-cluster[3,1,1024]"
MOST_STEPS, ROWS = 60, 200
SETTINGS = {
    "spark.dynamicAllocation.enabled": "true",
    "spark.dynamicAllocation.shuffleTracking.enabled": "true",
    "spark.dynamicAllocation.minExecutors": "1",
    "spark.dynamicAllocation.maxExecutors": "3",
    "spark.executor.cores": "1",
}


def feed(place: Path, step: int) -> None:
    rows = np.arange(ROWS)
    for name in "ab":
        table = pa.table(
            {
                "id": rows + ROWS * step,
                "ts": pa.array(rows * 1000 + step * 1_000_000, pa.timestamp("us", "UTC")),
                "k": rows.astype(np.int32),
                "v": rows,
            }
        )
        (place / name).mkdir(parents=True, exist_ok=True)
        pq.write_table(table, place / name / f".{step}")
        (place / name / f".{step}").rename(place / name / f"{step:04d}.parquet")


def main(place: Path) -> None:
    import braid

    spark = start_session(place / "scratch", MASTER, {**SMALL, **SETTINGS})
    feed(place, 0)
    frames = {n: spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(place / n)) for n in "ab"}
    streams = [braid.stream(name, frame, time="ts", window="1 minute") for name, frame in frames.items()]
    query = braid.join(*streams).on("a.k = b.k").select("a.id AS a", "b.id AS b")
    elastic = query.elastic(period="1 millisecond", patience=1, capacity="4k", max_units=2)
    options = {"path": str(place / "output"), "checkpointLocation": str(place / "checkpoint")}
    run = elastic.writeStream.options(**options).start()
    step, slots = 0, set()
    while step < MOST_STEPS and 2 not in slots:
        while len(run.recentProgress) <= step:
            run.awaitTermination(0.1)
        slots |= {unit["slot"] for unit in run.recentProgress[step]["units"]}
        step += 1
        feed(place, step)
    run.stop()
    said = [text for record in run.recentProgress for text in record["adaptations"]]
    files = [sum(record["inputRows"][name] for record in run.recentProgress) // ROWS for name in "ab"]
    rows = spark.read.parquet(options["path"]).count()
    print(json.dumps({"files": files, "slots": sorted(slots), "rows": rows, "said": said}))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
