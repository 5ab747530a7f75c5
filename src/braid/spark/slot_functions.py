"""Jobs whose tasks write everything themselves: one task per slot, which reads its command and returns a report."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from braid.engine.commands import Command
from braid.engine.locations import Locations
from braid.engine.reports import report_text
from braid.engine.tasks.functions import TaskFunction
from braid.engine.tasks.metering import run_metered
from braid.engine.tasks.task import SlotTask
from braid.plan.join import JoinPlan
from braid.spark.task_context import current_task

REPORT_SCHEMA = pa.schema([("report", pa.string())])


class SlotFunction:
    """Runs a task function for the slot of this partition of the anchor."""

    def __init__(
        self, plan: JoinPlan, locations: Locations, slots: int, kind: type[Command[Any]], function: TaskFunction[Any]
    ) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots
        self._kind = kind
        self._function = function

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read_anchor(batches)
        task, command, meter = current_task(self._kind, self._locations, self._slots)
        own = SlotTask(self._plan, self._locations, self._slots, task)
        yield report_row(run_metered(meter, lambda: self._function(own, command)))


def read_anchor(batches: Iterator[pa.RecordBatch]) -> None:
    """Spark ends a Python worker that leaves input unread; the next job would start another, which takes a second."""
    deque(batches, maxlen=0)


def report_row(report: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"report": [report_text(report)]}, schema=REPORT_SCHEMA)
