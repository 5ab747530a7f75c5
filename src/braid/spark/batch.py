"""The results of static inputs: the same engine, one step, in a scratch checkpoint."""

from __future__ import annotations

import atexit
import tempfile
import time
import uuid
from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from braid.control.ordering import Ordering
from braid.engine.locations import Locations
from braid.engine.restart.consistency import claim_for
from braid.engine.sinks import STAGING, FileSink
from braid.engine.step import StepRunner
from braid.errors import StorageError
from braid.optimizer.exchange import choose_exchange
from braid.optimizer.strategies import Strategy
from braid.optimizer.strategies.strategy import sequences_of
from braid.plan.join import JoinPlan
from braid.plan.memory import MemoryLimit
from braid.spark.cluster import SparkCluster
from braid.spark.memory import task_memory
from braid.spark.session import is_one_host, slot_count
from braid.spark.sinks.frames import ordered_frame
from braid.spark.storage import prove_shared, qualify, read_parquet
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate

SCRATCH = "spark.braid.scratchLocation"


def run_batch(
    spark: SparkSession,
    plan: JoinPlan,
    strategy: Strategy,
    frames: Sequence[DataFrame],
    schema: StructType,
    ordering: Ordering | None = None,
    memory: MemoryLimit | None = None,
) -> DataFrame:
    """Join static DataFrames; the result stays in scratch storage until the process ends.

    The clock has no effect: a row may be any time ahead of it.
    """
    plan = replace(plan, streams=tuple(replace(stream, max_ahead_us=None) for stream in plan.streams))
    location = scratch_location(spark, "batch")
    prove_shared(spark, location, "scratch location")
    files, path = locate(location)
    output = f"{location}/result"
    slots = slot_count(spark)
    layout = strategy.layout(plan, slots)
    limits = task_memory(spark, memory, layout, slots)
    locations = Locations(location, f"{output}/{STAGING}", "none", timed=plan.ordered, memory=limits)
    cluster = SparkCluster(spark, plan, locations, slots, choose_exchange("auto", plan, location, slots).kind)
    identity = uuid.uuid4().hex
    sink = FileSink(files, f"{path}/result", identity)
    if ordering is None and plan.row_based:
        ordering = Ordering("sync-filter", 0.0)
    checkpoint = Checkpoint(files, path)
    owner = claim_for(checkpoint, sink, identity, int(time.time() * 1000))
    disk = None if memory is None else memory.disk_bytes
    given, choose = (plan, checkpoint, cluster, sink, owner, layout), sequences_of(strategy, plan, layout)
    steps = StepRunner(*given, ordering=ordering, read="static", disk_bytes=disk, choose_sequences=choose)
    try:
        cluster.take_batch(cluster.source(frames))
        steps.run(0, flush=True)
    finally:
        cluster.close()
        files.delete_tree(f"{path}/blocks")
    if not [name for name in files.list(f"{path}/result") if name.endswith(".parquet")]:
        return spark.createDataFrame([], schema)
    if plan.ordered:
        return ordered_frame(spark, schema, output)
    return read_parquet(spark, output, schema=schema)


def scratch_location(spark: SparkSession, purpose: str) -> str:
    """A new directory for files of this process: a temporary one, or below a shared location on a cluster."""
    shared = spark.conf.get(SCRATCH, None)
    if shared is None and not is_one_host(spark):
        raise StorageError(
            "Braid needs storage that all hosts reach, and this query names none.",
            hint=f"Set the Spark configuration {SCRATCH} to a shared location (hdfs://, s3a://, gs://, abfss://), or "
            "give a checkpointLocation.",
        )
    if shared is None:
        location = tempfile.mkdtemp(prefix=f"braid-{purpose}-")
    else:
        location = f"{qualify(spark, shared, SCRATCH)}/braid-{purpose}-{uuid.uuid4().hex}"
    atexit.register(_remove, location)
    return location


def _remove(location: str) -> None:
    files, path = locate(location)
    files.delete_tree(path)
