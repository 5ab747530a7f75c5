"""The functions that Spark runs in its Python workers, and the reports they return to the driver.

A task returns rows of one string column: JSON reports. An error that a retry cannot fix is returned as a report; any
other error is raised, and Spark retries the task.
"""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import pyarrow as pa

from braid.engine.commands import AggregateCommand, IngestCommand, ProbeCommand, RankCommand, ReleaseCommand
from braid.engine.tasks.aggregate.changes import SlotChanges, write_changes
from braid.engine.tasks.aggregate.partials import PartialSink
from braid.engine.tasks.aggregate.update import SlotUpdate, write_update
from braid.engine.tasks.exchange import ExchangedRows
from braid.engine.tasks.ingest import IngestPlaces, ingest
from braid.engine.tasks.intermediate import IntermediateRows
from braid.engine.tasks.merge import merge_blocks, move_blocks
from braid.engine.tasks.ordered.buffering import BufferSink, released_at
from braid.engine.tasks.ordered.ranking import rank_rows
from braid.engine.tasks.ordered.release import SlotRelease, write_release
from braid.engine.tasks.probe import SlotProbe
from braid.engine.tasks.results import ResultWriter, select_outputs
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.stamping import Stamp
from braid.engine.tasks.task_errors import with_task_errors
from braid.engine.tasks.watching import watched
from braid.kernels.rows import Pairs
from braid.optimizer.trees import in_shape
from braid.placement.units import slot_of, units_of
from braid.plan.join import JoinPlan
from braid.state.cache import LocalCopies, copies_directory
from braid.state.files import locate

REPORT_SCHEMA = pa.schema([("report", pa.string())])
# A worker serves few runs at once, each with at most four kinds of stores.
OPEN_STORES = 6


@dataclass(frozen=True)
class Locations:
    """The locations of a run, as the user wrote them; tasks open them with their own filesystems.

    `discard`: results are only counted. `timed`: ordered results have their result time, for a reader that sorts.
    `step_column`: the column with the step number of each result, if there is one.
    """

    checkpoint: str
    staging: str
    compression: str
    discard: bool = False
    timed: bool = False
    step_column: str | None = None


@dataclass(frozen=True)
class Task:
    """The attempt and partition of a task: unique in a run, so that file names never collide."""

    partition: int
    attempt: int
    host: str = ""


def report_row(report: dict[str, Any]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"report": [json.dumps(report)]}, schema=REPORT_SCHEMA)


def run_ingest(
    plan: JoinPlan,
    stream: int,
    locations: Locations,
    command: IngestCommand,
    task: Task,
    batches: Iterator[pa.RecordBatch],
) -> dict[str, Any]:
    """One ingest task: write the block, report it."""
    files, checkpoint = locate(locations.checkpoint)
    name = f"{command.run[:8]}-{command.step:012d}-{stream}-{task.partition}-{task.attempt}"
    places = IngestPlaces(files, f"{checkpoint}/blocks", f"{checkpoint}/staging", name, task.partition)
    return with_task_errors(lambda: {**ingest(plan, stream, command, places, batches), "host": task.host})


def run_probe(plan: JoinPlan, slots: int, locations: Locations, command: ProbeCommand, task: Task) -> dict[str, Any]:
    """One probe task that writes files: results, or rows exchanged to the next round."""
    return with_task_errors(lambda: ProbeRun(plan, slots, locations, command, task).run())


class ProbeRun:
    """A slot's work in a probe job: lookups, then merges, then the report."""

    def __init__(self, plan: JoinPlan, slots: int, locations: Locations, command: ProbeCommand, task: Task) -> None:
        self._plan = plan = in_shape(plan, command.layouts[-1].tree)
        self._slots = slots
        self._command = command
        self._task = task
        self._locations = locations
        self._files, self._checkpoint = locate(locations.checkpoint)
        self._name = f"{command.run[:8]}-{command.step:012d}-{command.first_round}-s{task.partition}-{task.attempt}"
        self._began, self._began_cpu = time.monotonic(), time.process_time()
        self.store = segment_store(plan, locations.checkpoint, command.run)
        blocks = f"{self._checkpoint}/blocks"
        self._intermediate = IntermediateRows(
            plan, command, self._files, blocks, self._name, command.step + task.partition
        )
        self._probe = SlotProbe(command, task.partition, slots, self.store, self._intermediate.add)

    def run(self) -> dict[str, Any]:
        """Write what is found, and report it."""
        with self.watched():
            return self._write_results() if self._probe.gives_results else self._exchange()

    def watched(self) -> AbstractContextManager[None]:
        """Write notes of users' function calls meanwhile, if the command says so."""
        return watched(self._files, self._checkpoint, self._name, self._command.watched)

    def found(self) -> Iterator[tuple[int, int, Pairs]]:
        """What the lookups of this slot find, as (delta stream, route, pairs)."""
        rank_indexes = [rank_index.file for rank_index in self._command.rank_indexes]
        self.store.keep_only(
            [block.file for block in self._command.blocks] + list(self._command.exchanged) + rank_indexes
        )
        return self._probe.run()

    def joined(self, delta_stream: int) -> tuple[int, ...]:
        """The streams whose rows are joined in what is found for a delta stream."""
        return self._probe.joined(delta_stream)

    def report(self) -> dict[str, Any]:
        """After the lookups: merge the due blocks, and report the work."""
        probe = self._probe
        merged = [self._merge(number) for number in range(len(self._command.merges))]
        cpu, shares = time.process_time() - self._began_cpu, probe.shares()
        received, stored = probe.received(), probe.stored()
        return {
            "slot": self._task.partition,
            "host": self._task.host,
            "units": [
                {
                    "epoch": epoch,
                    "unit": unit,
                    "cpu": cpu * shares.get((epoch, unit), 0.0),
                    "stored_rows": stored.get((epoch, unit), (0, 0))[0],
                    "stored_bytes": stored.get((epoch, unit), (0, 0))[1],
                    "received_bytes": received.get((epoch, unit), 0),
                    **asdict(probe.units[epoch, unit]),
                }
                for epoch, unit in sorted({*stored, *received})
            ],
            "lookups": [
                {
                    "delta_stream": delta_stream,
                    "stream": stream,
                    "earlier": asdict(probe.earlier[delta_stream, stream]),
                    **asdict(counters),
                }
                for (delta_stream, stream), counters in probe.lookups.items()
            ],
            "merged": [None if block is None else asdict(block) for block in merged],
            **self._intermediate.close(),
            "seconds": time.monotonic() - self._began,
            "cpu": cpu,
        }

    def _write_results(self) -> dict[str, Any]:
        results = open_results(self._plan, self._locations, self._command, self._name)
        for _, _, pairs in self.found():
            results.add(select_outputs(self._plan, pairs))
        return {**self.report(), **results.close()}

    def _exchange(self) -> dict[str, Any]:
        exchanged = ExchangedRows(self._files, f"{self._checkpoint}/blocks", self._name)
        for delta_stream, route, pairs in self.found():
            rows = pairs.to_rows()
            self._intermediate.add(self._probe.joined(delta_stream), rows)
            if not self._command.is_last:
                exchanged.add(delta_stream, route, rows)
        return {**self.report(), **exchanged.close()}

    def _merge(self, number: int) -> Any:
        merge = self._command.merges[number]
        layouts = {layout.epoch: layout for layout in self._command.layouts}
        layout = layouts[merge.epoch]
        side = self._plan.members(merge.stream)[0]
        units = [unit for unit in units_of(layout, len(self._plan.streams)) if side in unit.streams]
        owned = {unit.number for unit in units if slot_of(unit, self._slots) == self._task.partition}
        inputs = [block for block in self._command.blocks if block.file in merge.files]
        path = f"{self._checkpoint}/blocks/{self._name}-m{number}.block"
        if merge.into is not None:
            return move_blocks(merge, (layout, layouts[merge.into]), owned, inputs, self.store, self._files, path)
        return merge_blocks(merge, owned, inputs, self.store, self._files, path)


def run_aggregate(
    plan: JoinPlan, slots: int, locations: Locations, command: AggregateCommand, task: Task
) -> dict[str, Any]:
    """One task of an aggregation's update: add the step's partial aggregates to this slot's parts."""
    aggregation = plan.aggregation
    if aggregation is None:
        raise RuntimeError("this join has no aggregation")
    files, checkpoint = locate(locations.checkpoint)
    name = f"{command.run[:8]}-{command.step:012d}-v{task.partition}-{task.attempt}"
    store = segment_store(plan, locations.checkpoint, f"{command.run} aggregate")
    partials = {*(partial.file for partial in command.partials), *command.rewritten}
    store.keep_only({*(block.file for block in command.aggregate.blocks), *partials})
    if aggregation.ordered:
        work = SlotChanges(aggregation, command, task.partition, slots, store)
        path = f"{checkpoint}/blocks/{name}"
        return with_task_errors(
            lambda: write_changes(work, aggregation, command.aggregate.parts, plan.sink_schema, files, path)
        )
    aggregate = SlotUpdate(aggregation, command, task.partition, slots, store)
    results = _result_writer(locations, name, aggregation.schema, command.step)
    block = f"{checkpoint}/blocks/{name}.block"
    return with_task_errors(
        lambda: write_update(aggregate, aggregation, command.aggregate.parts, files, block, results)
    )


def run_release(
    plan: JoinPlan, slots: int, locations: Locations, command: ReleaseCommand, task: Task
) -> dict[str, Any]:
    """One task of a release: write the buffered results of this slot's interval."""
    files, checkpoint = locate(locations.checkpoint)
    name = f"{command.run[:8]}-{command.step:012d}-o{task.partition:05d}-{task.attempt}"
    store = segment_store(plan, locations.checkpoint, f"{command.run} buffered")
    store.keep_only({*(buffered.file for buffered in command.blocks), *command.compacted})
    work = SlotRelease(command, task.partition, slots, store)
    sink_schema = plan.sink_schema
    if locations.timed:
        sink_schema = sink_schema.append(pa.field(released_at(sink_schema.names), pa.int64()))
    results = ReleaseSink(_result_writer(locations, name, sink_schema, command.step), sink_schema)
    kept = BufferSink(files, f"{checkpoint}/blocks/{name}.buffered")
    return with_task_errors(lambda: {"slot": task.partition, **write_release(work, results, kept)})


def run_rank(plan: JoinPlan, slots: int, locations: Locations, command: RankCommand, task: Task) -> dict[str, Any]:
    """One task of a ranking: the streams assigned to this slot."""
    files, checkpoint = locate(locations.checkpoint)
    name = f"{command.run[:8]}-{command.step:012d}-k{task.partition}-{task.attempt}"
    store = segment_store(plan, locations.checkpoint, f"{command.run} ranks")
    store.keep_only(
        {
            *(arrival_log.file for arrival_log in command.arrival_logs),
            *(rank_index.file for rank_index in command.rank_indexes),
        }
    )

    def work() -> dict[str, Any]:
        own = [stream for place, stream in enumerate(plan.row_based) if place % slots == task.partition]
        made = [rank_rows(plan, command, n, store, files, f"{checkpoint}/blocks/{name}-{n}.ranks") for n in own]
        return {"slot": task.partition, "rank_indexes": [rank_index for rank_index in made if rank_index is not None]}

    return with_task_errors(work)


class Results(Protocol):
    """Where a task's results go."""

    def add(self, batch: pa.RecordBatch) -> None: ...
    def close(self) -> dict[str, Any]: ...


def open_results(plan: JoinPlan, locations: Locations, command: ProbeCommand, name: str) -> Results:
    """A sink for a probe task's results: files in staging, buffered results, or partial aggregates."""
    files, checkpoint = locate(locations.checkpoint)
    if plan.aggregation is None and plan.ordered:
        return BufferSink(files, f"{checkpoint}/blocks/{name}.buffered")
    if plan.aggregation is None:
        return ResultSink(_result_writer(locations, name, plan.output_schema, command.step))
    return PartialSink(plan.aggregation, files, f"{checkpoint}/blocks/{name}.partial", command.aggregate_parts)


def _result_writer(locations: Locations, name: str, schema: pa.Schema, step: int) -> ResultWriter | None:
    if locations.discard:
        return None
    files, staging = locate(locations.staging)
    stamp = None if locations.step_column is None else Stamp(locations.step_column, step)
    return ResultWriter(files, staging, name, schema, locations.compression, stamp)


class ResultSink:
    """Selected rows written to staging, or only counted if the run discards them."""

    def __init__(self, writer: ResultWriter | None) -> None:
        self._writer = writer
        self._rows = 0

    def add(self, batch: pa.RecordBatch) -> None:
        self._rows += batch.num_rows
        if self._writer is not None:
            self._writer.add(batch)

    def close(self) -> dict[str, Any]:
        if self._writer is None:
            return {"results": self._rows, "files": []}
        self._writer.close()
        return {"results": self._rows, "files": [asdict(file) for file in self._writer.written]}


class ReleaseSink:
    """Released rows for staging: with their result time as last column, or without."""

    def __init__(self, writer: ResultWriter | None, schema: pa.Schema) -> None:
        self._sink = ResultSink(writer)
        self._schema = schema

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [*batch.columns[:-1], batch.column(batch.num_columns - 1).view(pa.int64())]
        self._sink.add(pa.RecordBatch.from_arrays(columns[: len(self._schema)], schema=self._schema))

    def close(self) -> dict[str, Any]:
        return self._sink.close()


_open_stores: OrderedDict[str, SegmentStore] = OrderedDict()


def segment_store(plan: JoinPlan, checkpoint: str, run: str) -> SegmentStore:
    """This worker's open blocks of a run; the stores of runs not used for long are closed."""
    place = f"{checkpoint} {run}"
    store = _open_stores.pop(place, None)
    if store is None:
        files, path = locate(checkpoint)
        store = SegmentStore(plan, LocalCopies(files, copies_directory()), f"{path}/blocks")
    store.plan = plan
    _open_stores[place] = store
    while len(_open_stores) > OPEN_STORES:
        _open_stores.popitem(last=False)
    return store
