"""The limit on the size of a checkpoint: an early warning, and a step that is refused, not lost."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from braid.errors import StorageError, StorageWarning
from braid.plan.memory import MemoryLimit
from braid.state.files import LocalFiles
from braid.testing import InlineQuery, ManualClock
from tests.properties.cases import make_case, results_of

SEED = 12


def test_a_run_warns_early_stops_before_the_limit_and_continues_with_a_larger_one(tmp_path: Path) -> None:
    case = make_case(SEED).restarted()
    clock, warned = ManualClock(case.clock_ms[0]), 0
    refused: list[StorageError] = []
    limit, batch, largest = 4_000, 0, 0
    query: InlineQuery | None = None
    while batch < len(case.clock_ms):
        clock.now_ms = case.clock_ms[batch]
        memory = MemoryLimit(1 << 30, disk_bytes=limit)
        query = InlineQuery(case.logical_plan, str(tmp_path), clock=clock, limits=memory)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            try:
                progress = query.run(batch, case.tables(batch))
            except StorageError as error:
                refused.append(error)
                limit = limit * 5 // 4
                continue
        if progress is not None:
            assert progress["memory"]["diskLimit"] == limit
            largest = max(largest, progress["memory"]["diskBytes"])
        warned += any(issubclass(warning.category, StorageWarning) for warning in found)
        batch += 1
    assert query is not None
    assert refused
    assert all("disk_limit" in error.message and "Nothing is lost" in error.hint for error in refused)
    assert warned
    assert results_of(case, query.published()) == case.expected
    assert largest <= limit


def test_the_size_of_a_tree_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "x").write_bytes(b"123")
    (tmp_path / "a" / "b" / "y").write_bytes(b"12345")
    assert LocalFiles().tree_size(str(tmp_path)) == 8
    assert LocalFiles().tree_size(str(tmp_path / "missing")) == 0


@pytest.mark.parametrize("limit", [None, 1 << 30])
def test_without_need_nothing_is_said(limit: int | None, tmp_path: Path) -> None:
    case = make_case(SEED)
    query = InlineQuery(case.logical_plan, str(tmp_path), limits=MemoryLimit(1 << 30, disk_bytes=limit))
    progress = query.run(0, case.tables(0))
    assert progress is not None
    assert ("diskBytes" in progress["memory"]) == (limit is not None)
