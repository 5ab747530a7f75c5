"""Names of files: the slot that wrote a file can be read from its name."""

from __future__ import annotations

import pytest

from braid.engine.commands import IngestCommand
from braid.engine.row_ids import RowIds
from braid.engine.tasks.task import Task, writing_slot
from braid.plan.layout import Layout

COMMAND = IngestCommand(12, "0a1b2c3d4e5f", (None,), Layout(0, "partitioned", (4,), (1,)), (None,), RowIds(0, 4))


@pytest.mark.parametrize("kind", ["0-", "11-", "0-s", "13-s", "p", "v", "o", "k"])
@pytest.mark.parametrize("suffix", [".block", "-g0.block", "-m1.block", ".exchanged", "-d2.block", ".buffered", ""])
def test_the_slot_of_a_file(kind: str, suffix: str) -> None:
    for slot in (0, 7, 99_999):
        assert writing_slot(Task(slot, 123).file_name(COMMAND, kind) + suffix, 100_000) == slot


def test_a_partition_of_the_input_counts_as_the_slot_of_its_number() -> None:
    name = Task(11, 123).file_name(COMMAND, "1-") + ".block"
    assert writing_slot(name, 4) == 3


def test_other_names_have_no_slot() -> None:
    assert writing_slot("results.parquet", 4) is None
