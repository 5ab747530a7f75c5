"""A shuffle in one process that is as unreliable as a shuffle may be.

Every ingest task runs twice, the second time with its rows in another order and in other batches. Each slot reads the
pieces of either attempt, as after the loss of an executor, and all pieces come in any order.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.engine.tasks.shuffle import PIECES, SLOT


def reordered(rows: pa.Table, chance: random.Random) -> pa.Table:
    """The same rows, in another order."""
    return rows.take(pa.array(_shuffled(rows.num_rows, chance)))


def pieces_of(slot: int, tasks: Sequence[Sequence[pa.Table]], chance: random.Random) -> list[pa.RecordBatch]:
    """The pieces that a slot reads, of either attempt of every task."""
    read = [chance.choice(attempts) for attempts in tasks]
    own = [table.filter(pc.equal(table.column(SLOT), slot)) for table in read]
    every = pa.concat_tables(own) if own else PIECES.empty_table()
    mixed = every.take(pa.array(_shuffled(every.num_rows, chance)))
    return list(mixed.combine_chunks().to_batches(max_chunksize=chance.randint(1, 5)))


def _shuffled(count: int, chance: random.Random) -> np.ndarray:
    return np.array(chance.sample(range(count), count), np.int64)
