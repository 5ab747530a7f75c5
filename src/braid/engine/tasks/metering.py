"""Tasks with a meter: what a task used is in its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from braid.engine.reports import TaskFailure, TaskReport
from braid.engine.tasks.task import writing_slot
from braid.engine.tasks.task_errors import with_task_errors
from braid.engine.tasks.worker.allowance import measured
from braid.state.usage import Meter

R = TypeVar("R", bound=TaskReport)


def run_metered(meter: Meter, work: Callable[[], R]) -> R | TaskFailure:
    """The report of a task with what it used, or its error."""
    with meter.running():
        report = with_task_errors(work)
    if isinstance(report, TaskFailure):
        return report
    return replace(report, usage=meter.usage(), memory=measured())


def slot_meter(slot: int, slots: int) -> Meter:
    """A meter for a task of a slot."""
    return Meter(lambda file: writing_slot(file, slots) == slot)
