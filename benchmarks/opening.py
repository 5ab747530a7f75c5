"""`python -m benchmarks.opening`: what the blocks of a state cost a worker that has not opened them yet.

A state of three streams is built in one process; `b` has two sort orders, so one of its indexes is a stored
permutation. Then several workers open all of it one after the other, each with a `SegmentStore` of its own. Prints the
CPU milliseconds of the first worker and the median of the others, for each million rows.
"""

from __future__ import annotations

import statistics
import tempfile
import time

import numpy as np
import pyarrow as pa

from braid.engine.tasks.segments import SegmentStore
from braid.kernels.search import search
from braid.optimizer.build import build_plan
from braid.plan.logical import LogicalPlan
from braid.state.cache import LocalCopies
from braid.state.files import LocalFiles
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal

ROWS, STEPS, WORKERS = 200_000, 10, 5
DISTINCT = {"distinct keys": 1 << 40, "eight rows a key": ROWS * STEPS // 8}


def three_streams() -> LogicalPlan:
    draft = Draft()
    a = draft.stream("a", {"k": "bigint"}, window_us=None)
    b = draft.stream("b", {"k": "bigint", "j": "bigint"}, window_us=None)
    c = draft.stream("c", {"j": "bigint"}, window_us=None)
    draft.on(equal(a["k"], b["k"])).on(equal(b["j"], c["j"]))
    return draft.logical_plan()


def open_all(query: InlineQuery, store: SegmentStore) -> float:
    """The CPU seconds to open every segment, and the first lookup's view of its keys."""
    began = time.process_time()
    for block in query.steps.manifest.blocks:
        for segment in store.reader(block.file).segments:
            for index in store.stored(block.file, segment, block.stream).indexes:
                if index.keys is not None:
                    search(index, index.keys[:1], None, 1)
    return time.process_time() - began


def measure(distinct: int) -> tuple[int, list[float]]:
    chance = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(three_streams(), directory, slots=2, rows_per_batch=10_000)
        for step in range(STEPS):
            query.run(step, {name: _rows(chance, step, distinct, columns) for name, columns in COLUMNS.items()})
        rows = sum(block.rows for block in query.steps.manifest.blocks)
        plan, blocks = build_plan(three_streams()), f"{query.checkpoint.path}/blocks"
        copies = f"{directory}/copies"
        stores = [SegmentStore(plan, LocalCopies(LocalFiles(), copies), blocks) for _ in range(WORKERS)]
        return rows, [open_all(query, store) for store in stores]


COLUMNS = {"a": ("k",), "b": ("k", "j"), "c": ("j",)}


def _rows(chance: np.random.Generator, step: int, distinct: int, columns: tuple[str, ...]) -> pa.Table:
    # Keys of the three streams never meet: what is measured is the state, not the results.
    values = {name: pa.array(chance.integers(0, distinct, ROWS) * 4 + len(columns)) for name in columns}
    return pa.table({"ts": pa.array(np.full(ROWS, step), pa.timestamp("us", "UTC")), **values})


def main() -> None:
    for name, distinct in DISTINCT.items():
        rows, seconds = measure(distinct)
        first, others = (1e9 * value / rows for value in (seconds[0], statistics.median(seconds[1:])))
        print(
            f"{name}: {rows:,} rows; first worker {first:.2f} ms, others {others:.2f} ms for a million rows", flush=True
        )


if __name__ == "__main__":
    main()
