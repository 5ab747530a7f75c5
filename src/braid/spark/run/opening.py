"""From a job to an opened checkpoint: all checks of a start, in the order in which they may be made.

What can fail without a trace comes first: the plan, the layout and the DataFrame of the reports. Then the query record
is written, and the run claims the checkpoint. Nothing runs yet.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from braid.engine.restart.consistency import claim_for
from braid.engine.restart.identity import Identity, identify, require_newest, settle
from braid.engine.sinks import Sink
from braid.errors import SinkError
from braid.optimizer.exchange import ChosenExchange, choose_exchange
from braid.optimizer.strategies.semijoin import at_slots, storage_of
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.spark.cluster import SparkCluster
from braid.spark.memory import task_memory
from braid.spark.run.job import Job
from braid.spark.session import slot_count
from braid.spark.sites.start import site_hosts
from braid.spark.storage import prove_shared
from braid.spark.totals import aggregation_record
from braid.state.checkpoint import Checkpoint
from braid.state.files import locate
from braid.state.ownership import Ownership


@dataclass(frozen=True)
class Opened:
    """A checkpoint that a run has claimed, and what the run needs; `reports` are those of the ingest tasks."""

    id: str
    plan: JoinPlan
    layout: Layout
    checkpoint: Checkpoint
    cluster: SparkCluster
    reports: DataFrame
    exchange: ChosenExchange
    sink: Sink
    owner: Ownership


def open_checkpoint(spark: SparkSession, job: Job) -> Opened:
    """Compare the query with the checkpoint, record it, and claim the checkpoint for a new run."""
    prove_shared(spark, job.checkpoint, "checkpointLocation")
    checkpoint = Checkpoint(*locate(job.checkpoint))
    accept = job.accept_changed_functions
    find = partial(identify, checkpoint, job.logical_plan, job.checkpoint, accept_changed_functions=accept)
    identity = with_own_path(find, job.sink.require_own)
    plan, hosts = identity.plan, site_hosts(spark, job.strategy, identity.plan)
    slots = slot_count(spark)
    layout = job.strategy.layout(plan, slots)
    exchange = choose_exchange(job.exchange, plan, job.checkpoint, slots, located=hosts is not None)
    stored = storage_of(plan, f"/braid-{identity.id}") if layout.kind == "sites" else ()
    limit = task_memory(spark, job.memory, layout, slots)
    locations = replace(job.sink.locations, memory=limit, site_storage=stored)
    cluster = SparkCluster(spark, plan, locations, slots, exchange.kind, hosts)
    layout = layout if hosts is None else at_slots(plan, cluster.site_slots)
    try:
        cluster.prove_storage(layout)
        # Analysed and pickled before anything is written: a start that fails here leaves the checkpoint as it was.
        reports = cluster.source(job.frames)
        identity = settle(identity, find, checkpoint, aggregation_record(plan))
        sink = job.sink.make(identity.id, not checkpoint.stored())
        owner = claim_for(checkpoint, sink, str(uuid.uuid4()), int(time.time() * 1000))
        require_newest(identity, find, checkpoint)
    except BaseException:  # Ctrl-C too: the cluster keeps blocks in Spark's memory until it is closed
        cluster.close()
        raise
    return Opened(identity.id, plan, layout, checkpoint, cluster, reports, exchange, sink, owner)


def with_own_path(find: Callable[[], Identity], require_own: Callable[[str], None]) -> Identity:
    """The identity of the query, whose results alone are in its path.

    Between the two looks another start on the checkpoint may have recorded the query and claimed the path for it. Then
    the recorded identity is the one to continue with.
    """
    identity = find()
    try:
        require_own(identity.id)
    except SinkError:
        identity = find()
        require_own(identity.id)
    return identity
