"""The share of a worker, and what a task that begins under a limit or without one changes in its process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from braid.engine.commands import AggregateCommand, IngestCommand
from braid.engine.locations import Locations
from braid.engine.row_ids import RowIds
from braid.engine.tasks.worker import allowance
from braid.engine.tasks.worker.allowance import Allowance, allowance_of, current, measured, obey
from braid.kernels import sizes
from braid.plan.layout import Layout
from braid.plan.memory import MemoryLimit, TaskMemory, floor_bytes
from braid.state.manifest import AggregateState

LAYOUT = Layout(0, "partitioned", (4,), (1,))
COMMAND = IngestCommand(0, "run", (None,), LAYOUT, (None,), RowIds(0, 1))
UNLIMITED = Locations("/somewhere", "/else", "none")


@pytest.fixture(autouse=True)
def unlimited_again() -> Iterator[None]:
    yield
    obey(UNLIMITED, COMMAND)


def test_an_executor_may_hold_the_limit_for_each_unit_of_its_slots() -> None:
    memory = TaskMemory(100, slots=8, slots_here=2)
    assert memory.executor_bytes(units=8) == 200
    assert memory.executor_bytes(units=16) == 400
    assert memory.executor_bytes(units=1) == 100, "an executor has at least a unit"


def test_workers_share_it() -> None:
    assert allowance_of(TaskMemory(1000, 2, 2), units=4, workers=5) == Allowance(800)


def test_the_parts_of_an_allowance_are_less_than_it() -> None:
    own = Allowance(64 << 20)
    assert own.kept + 5 * own.piece + own.rows * allowance.BYTES_PER_ROW < own.size
    assert Allowance(0).piece > 0
    assert Allowance(0).rows > 0


def test_a_task_obeys_the_limit_of_its_run() -> None:
    limited = replace(UNLIMITED, memory=MemoryLimit(1 << 20).for_tasks(2, 2, "one"))
    obey(limited, COMMAND)
    assert current() == Allowance(4 << 20)
    assert sizes.piece_bytes() == (4 << 20) // 16
    assert sizes.piece_rows(1 << 30) == Allowance(4 << 20).rows
    found = measured()
    assert found is not None
    assert found.peak >= found.resident >= 0
    without = AggregateCommand(1, "run", AggregateState(1), (), (), None, None)
    obey(limited, without)
    assert current() == Allowance(4 << 20), "a command without a layout has the units of the one before"
    obey(UNLIMITED, COMMAND)
    assert current() is None
    assert measured() is None
    assert sizes.piece_bytes() == sizes.PIECE_BYTES
    assert sizes.piece_rows(7) == 7


def test_the_floor_of_a_limit_is_shared_by_the_units() -> None:
    assert floor_bytes(slots=4, units=4) == floor_bytes(slots=8, units=8)
    assert floor_bytes(slots=4, units=8) * 2 == floor_bytes(slots=4, units=4)
