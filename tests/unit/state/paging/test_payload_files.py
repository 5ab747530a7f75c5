"""Addresses of payloads: the file and the row of each, also where ids start again from the smallest number."""

from __future__ import annotations

import numpy as np
import pytest

from braid.errors import CorruptStateError
from braid.state.paging.payload_files import PayloadFile, PayloadIndex


def files_of(step: int, first_id: int, stride: int, rows: dict[int, int]) -> list[PayloadFile]:
    return [
        PayloadFile(f"{step}-{task}", 0, step, task, first_id, stride, count, 100, ("r.note",))
        for task, count in rows.items()
    ]


def addresses(*numbers: int) -> np.ndarray:
    return np.array([number % (1 << 64) for number in numbers], np.uint64).view(np.int64)


def test_an_address_is_a_row_of_a_task() -> None:
    index = PayloadIndex([*files_of(7, 10, 3, {0: 2, 2: 1}), *files_of(9, 40, 2, {1: 5})])
    numbers, rows = index.find(addresses(41, 10, 12, 13, 49))
    assert [index.files[number].file for number in numbers] == ["9-1", "7-0", "7-2", "7-0", "9-1"]
    assert rows.tolist() == [0, 0, 0, 1, 4]


def test_ids_may_start_again() -> None:
    before = (1 << 63) - 2
    index = PayloadIndex([*files_of(1, before, 2, {0: 1, 1: 1}), *files_of(2, before + 2 - (1 << 64), 2, {0: 3})])
    numbers, rows = index.find(addresses(before + 1, before + 2, before + 6))
    assert [index.files[number].file for number in numbers] == ["1-1", "2-0", "2-0"]
    assert rows.tolist() == [0, 0, 2]


@pytest.mark.parametrize("address", [11, 14, 16])
def test_an_address_in_no_file_is_refused(address: int) -> None:
    """A task that stored nothing, and rows after the last one."""
    index = PayloadIndex(files_of(7, 10, 2, {0: 2}))
    with pytest.raises(CorruptStateError, match="no payload file"):
        index.find(addresses(address))
