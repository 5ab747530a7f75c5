"""Ids of rows: no two alike, in any number of tasks, chunks and steps, and the same for a retried task."""

from __future__ import annotations

import random

import numpy as np
import pytest

from braid.engine.row_ids import RowIds

FIRSTS = (0, (1 << 62) + 3, (1 << 63) - 20, (1 << 64) - 20, (1 << 64) - 1)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("first", FIRSTS)
def test_no_two_rows_have_the_same_id(first: int, seed: int) -> None:
    chance = random.Random(seed)
    seen: list[int] = []
    for _ in range(6):
        ids, rows = RowIds(first, chance.randint(1, 5)), []
        for task in range(chance.randint(0, ids.stride)):
            chunks = [chance.randint(0, 9) for _ in range(chance.randint(1, 3))]
            starts = np.cumsum([0, *chunks[:-1]])
            own = [ids.of(task, int(s), n) for s, n in zip(starts, chunks, strict=True)]
            again = ids.of(task, 0, sum(chunks))
            assert np.concatenate(own).tolist() == again.tolist()
            assert again.dtype == np.int64
            seen += again.tolist()
            rows.append(sum(chunks))
        first = ids.first_after(rows)
    assert len(set(seen)) == len(seen)


def test_a_step_without_rows_uses_no_ids() -> None:
    assert RowIds(7, 3).first_after([]) == 7
    assert RowIds(7, 3).first_after([0, 0]) == 7


def test_ids_are_as_dense_as_the_longest_task() -> None:
    assert RowIds(7, 3).first_after([2, 5, 0]) == 7 + 5 * 3


@pytest.mark.parametrize("task", [-1, 3])
def test_a_task_beyond_the_expected_number_is_refused(task: int) -> None:
    with pytest.raises(ValueError, match=rf"ingest task {task} has no ids: there are ids for tasks 0 to 2"):
        RowIds(0, 3).of(task, 0, 1)
