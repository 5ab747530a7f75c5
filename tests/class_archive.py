"""`python -m tests.class_archive FILE`: the classes of Spark that a join needs, in an archive that JVMs map.

Some thirty JVMs are started by the tests, most of them to be killed. Loading and verifying Spark's classes is two
fifths of what one does until its first query ends: 11.9 s of CPU without the archive, 7.0 s with it. `make test` writes
it once. Without one, or with one of another Java or another Spark, a JVM loads its classes as always, and says nothing.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from tests.session import JAVA_OPTIONS, start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def main(archive: Path) -> None:
    unfinished = archive.with_suffix(".new")
    unfinished.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        writing = f"{JAVA_OPTIONS} -Xlog:disable -XX:ArchiveClassesAtExit={unfinished}"
        spark = start_session(scratch, more={"spark.driver.extraJavaOptions": writing, "spark.log.level": "OFF"})
        load_classes(spark, Path(scratch))
        jvm = spark.sparkContext._gateway.proc
        spark.stop()
        # It writes the archive as it ends, and it ends when nobody can write to it.
        jvm.stdin.close()
        jvm.wait()
    unfinished.replace(archive)


def load_classes(spark: SparkSession, directory: Path) -> None:
    """Run a join of two file streams, and read what it wrote."""
    import braid

    times = pa.array([1_700_000_000_000_000], pa.timestamp("us", "UTC"))
    (directory / "in").mkdir()
    pq.write_table(pa.table({"ts": times, "k": pa.array([1], pa.int32())}), directory / "in" / "0.parquet")
    frame = spark.readStream.schema("ts timestamp, k int").parquet(str(directory / "in"))
    joined = braid.join(*(braid.stream(name, frame, time="ts", window="1 second") for name in "ab"))
    writer = joined.on("a.k = b.k AND bit_count(a.k) = 1").writeStream.trigger(availableNow=True)
    run = writer.option("checkpointLocation", str(directory / "checkpoint")).start(str(directory / "out"))
    run.awaitTermination()
    assert spark.read.parquet(str(directory / "out")).count() == 1


if __name__ == "__main__":
    main(Path(sys.argv[1]))
