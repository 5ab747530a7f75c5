"""Release: a slot writes the buffered results of its interval of result time, in order.

The intervals of the slots follow each other, so the files of all slots together are in order. Rows are merged in pieces
of bounded size; under a memory limit what a piece has read is given back before the next. Files with few unreleased
rows are compacted into one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pyarrow as pa

from braid.engine.commands import ReleaseCommand
from braid.engine.reports import Output, ReleaseReport
from braid.engine.tasks.ordered.buffering import BufferSink, Times, even_cuts, in_order, released_at, result_times
from braid.engine.tasks.results import ResultFiles, result_files
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.kernels import sizes
from braid.kernels.times import count_up_to
from braid.placement.admission import ALWAYS
from braid.state.paging.slices import copied

# Pieces of this size keep the merge in memory, and are large enough for whole row groups.
ROWS_AT_ONCE = 1 << 18
SAMPLED = 64


class Run(NamedTuple):
    """Sorted rows, their result times, and how their pages are given back, to be read again when they are touched."""

    batch: pa.RecordBatch
    times: Times
    first_us: int
    last_us: int
    size: int
    give_back: Callable[[], None]
    is_limited: bool

    def rows(self) -> pa.RecordBatch:
        """The rows; under a limit a copy, and nothing stays mapped."""
        own = copied(self.batch, None, self.give_back) if self.is_limited else None
        return self.batch if own is None else own


def run_release(task: SlotTask, command: ReleaseCommand) -> ReleaseReport:
    """One task of a release: write the results of the slot's interval, and compact its files."""
    name = task.task.file_name(command, "o")
    store = segment_store(task.plan, task.locations, f"{command.run} buffered")
    store.use([*(buffered.file for buffered in command.blocks), *command.compacted], command.step)
    work = SlotRelease(command, store)
    results = open_released(task, command, name)
    for piece in work.released():
        results.add(piece)
    kept = BufferSink(*task.block_path(f"{name}.buffered"))
    for piece in work.leftovers():
        kept.add(piece)
    output = replace(results.close(), newest_us=work.newest)
    return ReleaseReport(task.slot, output, work.counts, kept.close().buffered)


class ReleasedFiles:
    """Released rows for staging: with their result time as last column, or without."""

    def __init__(self, results: ResultFiles, schema: pa.Schema) -> None:
        self._results = results
        self._schema = schema

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [*batch.columns[:-1], batch.column(batch.num_columns - 1).view(pa.int64())]
        self._results.add(pa.RecordBatch.from_arrays(columns[: len(self._schema)], schema=self._schema))

    def close(self) -> Output:
        return self._results.close()


def open_released(task: SlotTask, command: ReleaseCommand, name: str) -> ReleasedFiles:
    schema = task.plan.sink_schema
    if task.locations.timed:
        schema = schema.append(pa.field(released_at(schema.names), pa.int64()))
    return ReleasedFiles(result_files(task, name, schema, command.step), schema)


class SlotRelease:
    """One slot's work in a release."""

    def __init__(self, command: ReleaseCommand, store: SegmentStore) -> None:
        self._command = command
        self._store = store
        self.counts: dict[str, int] = {}
        self.newest: int | None = None

    def released(self) -> Iterator[pa.RecordBatch]:
        """The rows of this slot's interval, in order."""
        runs = list(self._runs(self._command.after_us, self._command.until_us))
        for piece in in_pieces(runs):
            self.newest = int(result_times(piece)[-1])
            yield piece

    def leftovers(self) -> Iterator[pa.RecordBatch]:
        """The unreleased rows of the files that this slot compacts."""
        for file in self._command.compacted:
            for segment in self._store.reader(file).segments:
                for batch in self._store.batches(file, segment):
                    first = count_up_to(result_times(batch), self._command.frontier_us)
                    if first < batch.num_rows:
                        yield batch.slice(first)

    def _runs(self, after: int, until: int) -> Iterator[Run]:
        for buffered in self._command.blocks if after < until else ():
            lowest = max(after, buffered.after_us)
            reader = self._store.reader(buffered.file)
            for segment in reader.segments:
                batch = reader.batch(segment)
                give_back = partial(self._store.give_back, buffered.file, segment)
                whole = Run(batch, result_times(batch), 0, 0, 0, give_back, self._store.is_limited)
                run = _cut(whole, lowest, until)
                if len(run.times):
                    self.counts[buffered.file] = self.counts.get(buffered.file, 0) + len(run.times)
                    yield run


def in_pieces(runs: list[Run]) -> Iterator[pa.RecordBatch]:
    """Sorted runs merged, in pieces of bounded size; rows of one time need no merging."""
    if not runs:
        return
    rows, size, most = sum(len(run.times) for run in runs), sum(run.size for run in runs), rows_at_once()
    if rows <= most and size <= sizes.piece_bytes():
        yield in_order([run.rows() for run in runs])
        return
    newest = max(run.last_us for run in runs)
    if min(run.first_us for run in runs) == newest:
        for run in runs:
            for piece in sizes.batch_pieces(run.batch):
                yield run._replace(batch=piece).rows()
        return
    apart, samples = max(1, min(SAMPLED, rows // SAMPLED)), []
    for run in runs:
        samples.append(run.times[::apart].copy())
        run.give_back()
    cuts = sorted(set(even_cuts(samples, max(2, rows // most, size // sizes.piece_bytes() + 1))))
    lowest = ALWAYS
    for cut in _strictly_inside(cuts, newest):
        yield from in_pieces(_within(runs, lowest, cut))
        lowest = cut
    yield from in_pieces(_within(runs, lowest, newest))


def rows_at_once() -> int:
    """The rows of a piece in this process."""
    return sizes.piece_rows(ROWS_AT_ONCE)


def _strictly_inside(cuts: list[int], newest: int) -> list[int]:
    """Cuts with rows on both sides, so that each piece gets smaller; the oldest time alone is a piece too."""
    return [cut for cut in cuts if cut < newest]


def _within(runs: list[Run], after: int, until: int) -> list[Run]:
    pieces = [_cut(run, after, until) for run in runs]
    return [piece for piece in pieces if len(piece.times)]


def _cut(run: Run, after: int, until: int) -> Run:
    """The rows of a run later than `after`, up to `until`."""
    first, last = count_up_to(run.times, after), count_up_to(run.times, until)
    last = max(first, last)
    times, batch = run.times[first:last], run.batch.slice(first, last - first)
    edges = (int(times[0]), int(times[-1])) if len(times) else (0, 0)
    own = run._replace(batch=batch, times=times, first_us=edges[0], last_us=edges[1], size=batch.nbytes)
    run.give_back()
    return own
