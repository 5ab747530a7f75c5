"""Ranking: a task gives the rows of a stream their final order, so that windows of rows can be counted.

Rows up to the time of the release are complete, and later than those ranked before; so a step ranks only its own, and
sets them after the newest of the ruler before.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.engine.commands import RankOrder
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.ranks import Ruler, line_up, make_ruler
from braid.kernels.times import count_up_to
from braid.plan.join import JoinPlan, id_column
from braid.state.blocks import BlockWriter
from braid.state.files import Files

TIMES, IDS = "time", "id"

Numbers = npt.NDArray[np.int64]


def rank_rows(plan: JoinPlan, order: RankOrder, stream: int, store: SegmentStore, files: Files, path: str) -> Any:
    """Write the ruler of a stream after this step, and report it; None if it stays as it is."""
    count = plan.streams[stream].window_rows or 0
    fresh = _fresh(plan, order, stream, store)
    if fresh is None:
        return None
    before = next((ruler.file for ruler in order.rulers if ruler.stream == stream), None)
    times, ids = (np.zeros(0, np.int64),) * 2 if before is None else _read(store, before)
    final = count_up_to(times, order.before_us)
    newest = slice(max(0, final - count), final)
    times, ids = (np.concatenate(both) for both in ((times[newest], fresh[0]), (ids[newest], fresh[1])))
    with BlockWriter(files, path) as writer:
        batch = pa.RecordBatch.from_arrays([pa.array(times), pa.array(ids)], names=[TIMES, IDS])
        writer.add(0, 0, batch, int(times[0]), int(times[-1]))
    first = int(times[-count]) if len(times) >= count else None
    return {"stream": stream, "file": path.rsplit("/", 1)[1], "rows": len(times), "first_us": first}


def open_ruler(plan: JoinPlan, stream: int, file: str, store: SegmentStore) -> Ruler:
    """A ruler that rows can be measured against."""
    return make_ruler(*_read(store, file), plan.streams[stream].window_rows or 0)


def _fresh(plan: JoinPlan, order: RankOrder, stream: int, store: SegmentStore) -> tuple[Numbers, Numbers] | None:
    """Times and ids of the rows that are ranked in this step, in order."""
    pieces = []
    for roll in order.rolls:
        if roll.stream == stream:
            reader = store.reader(roll.file)
            for segment in reader.segments:
                batch = reader.batch(segment)
                times = _times(batch, plan.streams[stream].time)
                due = np.flatnonzero((times > roll.after_us) & (times <= order.until_us))
                pieces.append(batch if len(due) == len(times) else batch.take(pa.array(due)))
    rows = pa.Table.from_batches(pieces) if pieces else None
    if rows is None or rows.num_rows == 0:
        return None
    ids = rows.column(id_column(stream)).to_numpy()
    times = rows.column(plan.streams[stream].time).cast(pa.int64()).to_numpy()
    order_of_rows = line_up(times, rows.drop_columns([id_column(stream)]))
    return times[order_of_rows], ids[order_of_rows]


def _times(batch: pa.RecordBatch, name: str) -> Numbers:
    times: Numbers = batch.column(name).cast(pa.int64()).to_numpy()
    return times


def _read(store: SegmentStore, file: str) -> tuple[Numbers, Numbers]:
    reader = store.reader(file)
    batch = reader.batch(reader.segments[0])
    return batch.column(TIMES).to_numpy(), batch.column(IDS).to_numpy()
