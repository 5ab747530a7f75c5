"""Ranking: a task assigns rows their final order, so that row-based windows can count them.

Rows up to the frontier are complete and newer than all rows ranked before. So a step ranks only its own rows, and
appends them to the rank index.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from braid.engine.commands import RankCommand
from braid.engine.reports import RankReport
from braid.engine.tasks.rank_index import IDS, TIMES, Numbers, read_rank_index
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.kernels.ranks import rank_order
from braid.kernels.times import count_up_to
from braid.plan.join import JoinPlan, id_column
from braid.state.blocks import BlockWriter
from braid.state.files import Files
from braid.state.order_state import RankIndexFile


def run_rank(task: SlotTask, command: RankCommand) -> RankReport:
    """One task of a ranking: the streams whose arrival logs the slot has."""
    plan, name = task.plan, task.task.file_name(command, "k")
    store = segment_store(plan, task.locations, f"{command.run} ranks")
    logs, indexes = command.arrival_logs, command.rank_indexes
    store.use([*(log.file for log in logs), *(index.file for index in indexes)], command.step)
    ranked = [
        rank_rows(plan, command, stream, store, *task.block_path(f"{name}-{stream}.ranks"))
        for stream in sorted({log.stream for log in logs})
    ]
    return RankReport(task.slot, tuple(index for index in ranked if index is not None))


def rank_rows(
    plan: JoinPlan, command: RankCommand, stream: int, store: SegmentStore, files: Files, path: str
) -> RankIndexFile | None:
    """Write the rank index of a stream after this step; None if it is unchanged."""
    count = plan.streams[stream].window_rows or 0
    fresh = _fresh(plan, command, stream, store)
    if fresh is None:
        return None
    before = next((rank_index.file for rank_index in command.rank_indexes if rank_index.stream == stream), None)
    times, ids = (np.zeros(0, np.int64),) * 2 if before is None else read_rank_index(store, before)
    final = count_up_to(times, command.before_us)
    newest = slice(max(0, final - count), final)
    times, ids = (np.concatenate(both) for both in ((times[newest], fresh[0]), (ids[newest], fresh[1])))
    writer = BlockWriter(files, path)
    batch = pa.RecordBatch.from_arrays([pa.array(times), pa.array(ids)], names=[TIMES, IDS])
    writer.add(0, 0, batch, int(times[0]), int(times[-1]))
    writer.close()
    first = int(times[-count]) if len(times) >= count else None
    return RankIndexFile(stream, path.rsplit("/", 1)[1], len(times), first)


def _fresh(plan: JoinPlan, command: RankCommand, stream: int, store: SegmentStore) -> tuple[Numbers, Numbers] | None:
    """Times and ids of the rows that are ranked in this step, in order."""
    pieces = []
    for arrival_log in command.arrival_logs:
        if arrival_log.stream == stream:
            reader = store.reader(arrival_log.file)
            for segment in reader.segments:
                batch = reader.batch(segment)
                times = _times(batch, plan.streams[stream].time)
                due = np.flatnonzero((times > arrival_log.after_us) & (times <= command.until_us))
                pieces.append(batch if len(due) == len(times) else batch.take(pa.array(due)))
    rows = pa.Table.from_batches(pieces) if pieces else None
    if rows is None or rows.num_rows == 0:
        return None
    ids = rows.column(id_column(stream)).to_numpy()
    times = rows.column(plan.streams[stream].time).cast(pa.int64()).to_numpy()
    order_of_rows = rank_order(times, rows.drop_columns([id_column(stream)]))
    return times[order_of_rows], ids[order_of_rows]


def _times(batch: pa.RecordBatch, name: str) -> Numbers:
    times: Numbers = batch.column(name).cast(pa.int64()).to_numpy()
    return times
