"""Rank indexes in blocks: the event times and ids of a stream's newest rows, in rank order."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.engine.tasks.segments import SegmentStore
from braid.kernels.ranks import RankIndex, make_rank_index
from braid.plan.join import JoinPlan

TIMES, IDS = "time", "id"

Numbers = npt.NDArray[np.int64]


def open_rank_index(plan: JoinPlan, stream: int, file: str, store: SegmentStore) -> RankIndex:
    """A rank index in memory, for lookups."""
    return make_rank_index(*read_rank_index(store, file), plan.streams[stream].window_rows or 0)


def read_rank_index(store: SegmentStore, file: str) -> tuple[Numbers, Numbers]:
    """The times and ids of a rank index."""
    reader = store.reader(file)
    batch = reader.batch(reader.segments[0])
    return batch.column(TIMES).to_numpy(), batch.column(IDS).to_numpy()
