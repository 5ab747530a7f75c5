"""Jobs whose tasks write everything themselves: one task a slot, which reads its command and returns a report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from braid.engine.commands import AggregateCommand, RankCommand, ReleaseCommand
from braid.engine.tasks.work import Locations, Task, report_row, run_aggregate, run_rank, run_release
from braid.plan.join import JoinPlan
from braid.spark.task_context import current_task


def slot_commands(batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[dict[str, Any], Task]]:
    """The job's command, once for every slot in this partition of the anchor."""
    task, content = current_task()
    for batch in batches:
        for slot in batch.column(0).to_pylist():
            yield content, Task(slot, task.attempt, task.host)


class AggregateFunction:
    """A complete update of the aggregate state in tasks."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for content, task in slot_commands(batches):
            command = AggregateCommand.from_json(content)
            yield report_row(run_aggregate(self._plan, self._slots, self._locations, command, task))


class RankFunction:
    """A complete ranking of rows in tasks."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for content, task in slot_commands(batches):
            command = RankCommand.from_json(content)
            yield report_row(run_rank(self._plan, self._slots, self._locations, command, task))


class ReleaseFunction:
    """A complete release of buffered results in tasks."""

    def __init__(self, plan: JoinPlan, locations: Locations, slots: int) -> None:
        self._plan, self._locations, self._slots = plan, locations, slots

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for content, task in slot_commands(batches):
            command = ReleaseCommand.from_json(content)
            yield report_row(run_release(self._plan, self._slots, self._locations, command, task))
