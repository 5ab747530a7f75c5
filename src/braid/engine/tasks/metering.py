"""Tasks with a meter: what a task used is in its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import pyarrow as pa

from braid.engine.reports import SiteReport, TaskFailure, TaskReport
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


def run_metered_round(
    meter: Meter, work: Callable[[], tuple[list[pa.RecordBatch], SiteReport]]
) -> tuple[list[pa.RecordBatch], SiteReport | TaskFailure]:
    """The messages of a round, and its report with what it used; no messages with an error."""
    sent: list[pa.RecordBatch] = []

    def report() -> SiteReport:
        pieces, found = work()
        sent.extend(pieces)
        return found

    found = run_metered(meter, report)
    return sent, found


def slot_meter(slot: int, slots: int) -> Meter:
    """A meter for a task of a slot."""
    return Meter(lambda file: writing_slot(file, slots) == slot)
