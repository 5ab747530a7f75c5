"""A script that is interrupted while a step is under way. Its argument is a directory to work in."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import braid
from tests.session import start_session


def main(directory: Path) -> None:
    spark = start_session(directory / "scratch", more={"spark.log.level": "OFF"})
    (directory / "in").mkdir()
    times = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times}), directory / "in" / "0.parquet")
    frame = spark.readStream.schema("ts timestamp").parquet(str(directory / "in"))
    joined = braid.join(*(braid.stream(name, frame, time="ts", window="1 s") for name in ("a", "b")))

    def function(rows: Any, step: int) -> None:
        print("in a step", flush=True)
        while not (directory / "go on").exists():
            threading.Event().wait(0.05)
        rows.collect()

    run = joined.writeStream.foreachBatch(function).option("checkpointLocation", directory / "checkpoint").start()
    ended = run.awaitTermination()
    print(f"ended {ended}, active {run.isActive}, {len(run.recentProgress)} steps", flush=True)
    spark.stop()
    print("the script goes on", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
