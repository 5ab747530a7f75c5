"""Which function runs a command in a task.

The driver chooses it. A worker receives it by its name, and imports only that module: a plain join imports nothing of
ordered results and aggregations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from braid.engine.commands import AggregateCommand, Command, ProbeCommand, RankCommand, ReleaseCommand, RoundsCommand
from braid.engine.reports import TaskReport
from braid.engine.tasks.aggregate.changes import run_changes
from braid.engine.tasks.aggregate.partials import open_partials
from braid.engine.tasks.aggregate.update import run_update
from braid.engine.tasks.ordered.buffering import open_buffer
from braid.engine.tasks.ordered.ranking import run_rank
from braid.engine.tasks.ordered.release import run_release
from braid.engine.tasks.probe import OpenSink, run_probe, run_rounds
from braid.engine.tasks.results import open_result_files
from braid.engine.tasks.task import SlotTask
from braid.plan.join import JoinPlan

R = TypeVar("R", bound=TaskReport)
TaskFunction = Callable[[SlotTask, Any], R]


def task_function(plan: JoinPlan, command: Command[R]) -> TaskFunction[R]:
    """The function of a task with this kind of command."""
    functions: dict[type[Any], TaskFunction[Any]] = {
        ProbeCommand: partial(run_probe, open_sink=sink_of(plan)),
        RoundsCommand: partial(run_rounds, open_sink=sink_of(plan)),
        AggregateCommand: run_changes if plan.aggregation is not None and plan.aggregation.ordered else run_update,
        ReleaseCommand: run_release,
        RankCommand: run_rank,
    }
    return cast(TaskFunction[R], functions[type(command)])


def sink_of(plan: JoinPlan) -> OpenSink:
    """What becomes of a probe task's results."""
    if plan.aggregation is not None:
        return open_partials
    return open_buffer if plan.ordered else open_result_files
