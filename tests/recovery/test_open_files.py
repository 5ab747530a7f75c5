"""A task that fails leaves no file open, whatever it was writing: its error must not keep the descriptors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control.ordering import Ordering
from braid.engine.tasks import results
from braid.engine.tasks.ordered import buffering
from braid.errors import PredicateError
from braid.kernels import join
from braid.optimizer.strategies import Biclique, Strategy
from braid.testing import InlineQuery
from braid.testing.drafts import TIMESTAMP, Draft

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the open files of a process on Linux only")


def fail_later(keys: pa.Array) -> pa.Array:
    """True for the first rows, which are written; then an error."""
    if 9 in keys.to_pylist():
        raise LookupError("nine")
    return pa.array([True] * len(keys))


def open_files(directory: Path) -> list[str]:
    """The files below a directory that this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            path = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the descriptor of the listing itself
            continue
        found += [path] if path.startswith(str(directory)) else []
    return found


def rows(*keys: int) -> pa.Table:
    times = pa.array([100] * len(keys), pa.int64()).cast(TIMESTAMP)
    return pa.table({"ts": times, "k": pa.array(keys, pa.int64())})


def plain(draft: Draft) -> None:
    """Results are written as they are found."""


def ordered(draft: Draft) -> None:
    draft.ordered()


def aggregated(draft: Draft) -> None:
    draft.aggregate([draft.streams[0]["k"]], ("count", ()))


@pytest.mark.parametrize("strategy", [Biclique(1), Biclique(2), Biclique(1, shape="tree")], ids=str)
@pytest.mark.parametrize("kind", [plain, ordered, aggregated])
def test_a_failed_step_closes_its_files(
    kind: Callable[[Draft], None], strategy: Strategy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are written one by one, so that every task has open files when the function fails."""
    for module, name in ((join, "PAIRS_AT_ONCE"), (results, "ROWS_PER_GROUP"), (buffering, "ROWS_PER_SEGMENT")):
        monkeypatch.setattr(module, name, 1)
    draft = Draft()
    for name in "abc":
        draft.stream(name, {"k": "bigint"}, window_us=10)
    draft.on_function(fail_later, draft.streams[1]["k"])
    kind(draft)
    ordering = Ordering("filter-order", 0.3) if kind is ordered else None
    query = InlineQuery(draft.logical_plan(), str(tmp_path), strategy=strategy, slots=2, ordering=ordering)
    query.run(0, {name: rows(1, 2, 3) for name in "abc"})
    with pytest.raises(PredicateError) as caught:
        query.run(1, {"a": rows(4, 5), "b": rows(6, 7, 8, 9), "c": rows(1)})
    assert "nine" in str(caught.value)
    assert open_files(tmp_path) == []
