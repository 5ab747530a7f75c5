"""A query run without Spark: the real steps, checkpoint and Parquet sink over the inline cluster.

An instance is one run of the query. Another instance on the same directory is a restart, and a changed query is refused
as on Spark. After a crash the caller acts as Spark, and offers every batch again that was not committed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from braid.control.elasticity import Elasticity
from braid.control.idleness import SourceCheck
from braid.control.memory.adapting import Decide
from braid.control.memory.deferring import Returning, clean_up_bytes
from braid.control.ordering import Ordering
from braid.engine.locations import Locations
from braid.engine.restart.consistency import claim_for
from braid.engine.restart.identity import identify, require_newest, settle
from braid.engine.sinks import STAGING, DiscardSink, FileSink
from braid.engine.step import StepRunner
from braid.optimizer.exchange import RequestedExchange, choose_exchange
from braid.optimizer.strategies import Auto, Strategy
from braid.optimizer.strategies.semijoin import storage_of
from braid.optimizer.strategies.strategy import interleave_of, sequences_of
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.state.checkpoint import Checkpoint
from braid.state.files import Files, LocalFiles
from braid.testing.clock import ManualClock
from braid.testing.inline import ROWS_PER_BATCH, Fate, InlineCluster


class InlineQuery:
    """Results go to `directory/out`, or are only counted; state goes to `directory/checkpoint`."""

    def __init__(
        self,
        logical_plan: LogicalPlan,
        directory: str,
        *,
        strategy: Strategy | None = None,
        slots: int = 2,
        ingest_tasks: int = 1,
        clock: ManualClock | None = None,
        files: Files | None = None,
        fate: Callable[[int], Fate] = lambda _: "once",
        elasticity: Elasticity | None = None,
        ordering: Ordering | None = None,
        rows_per_batch: int = ROWS_PER_BATCH,
        exchange: RequestedExchange = "files",
        accept_changed_functions: bool = False,
        memory: Decide | None = None,
        returning: Returning = lambda _: (),
        limits: MemoryLimit | None = None,
        results: Literal["kept", "counted"] = "kept",
    ) -> None:
        files = files or LocalFiles()
        self.checkpoint = Checkpoint(files, f"{directory}/checkpoint")
        accept, path = accept_changed_functions, self.checkpoint.path
        find = partial(identify, self.checkpoint, logical_plan, path, accept_changed_functions=accept)
        identity = find()
        plan, strategy = identity.plan, strategy or Auto()
        self._output, self._schema = f"{directory}/out", logical_plan.sink_schema
        self._names = [stream.name for stream in logical_plan.streams]
        self._clock = clock or ManualClock()
        shared = None if limits is None else limits.for_tasks(slots, slots, "one")
        staging, discard, stored = f"{self._output}/{STAGING}", results == "counted", storage_of(plan)
        locations = Locations(self.checkpoint.path, staging, "none", discard, memory=shared, site_storage=stored)
        chosen = choose_exchange(exchange, plan, locations.checkpoint, slots).kind
        work = (logical_plan, plan, locations, slots)
        self.cluster = InlineCluster(*work, ingest_tasks, fate, rows_per_batch, files, chosen)
        layout = strategy.layout(plan, slots)
        identity = settle(identity, find, self.checkpoint)
        sink = DiscardSink(files) if discard else FileSink(files, self._output, "inline")
        owner = claim_for(self.checkpoint, sink, uuid.uuid4().hex, self._clock())
        require_newest(identity, find, self.checkpoint)
        given = (plan, self.checkpoint, self.cluster, sink, owner, layout, self._clock, elasticity, ordering)
        bounds = None if limits is None else limits.disk_bytes, clean_up_bytes(limits, layout.units[0])
        more = (interleave_of(strategy), memory, returning, *bounds, sequences_of(strategy, plan, layout))
        self.steps = StepRunner(*given, "streaming", *more)

    @property
    def last_batch(self) -> int:
        """The newest committed batch; -1 before the first."""
        return self.steps.manifest.batch

    def run(self, batch: int, tables: Mapping[str, pa.Table], unread: Collection[str] = ()) -> dict[str, Any] | None:
        """One step; None when the batch was committed before. `unread` streams have more rows at their source."""
        self.cluster.load(tables)
        check = SourceCheck(self._clock(), tuple(name in unread for name in self._names))
        return self.steps.run(batch, check=check)

    def published(self) -> pa.Table:
        """Every result that a reader of the output sees."""
        return read_published(self.checkpoint.files, self._output, self._schema)


def read_published(files: Files, directory: str, schema: pa.Schema) -> pa.Table:
    """The rows of the published files, as a Parquet reader finds them: hidden names are skipped."""
    names = [name for name in files.list(directory) if not name.startswith(("_", "."))]
    tables = [pq.read_table(pa.BufferReader(files.map(f"{directory}/{name}"))) for name in names]
    return pa.concat_tables(tables) if tables else schema.empty_table()
