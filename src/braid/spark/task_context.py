"""The identity and the command of a task; only inside Spark's Python workers."""

from __future__ import annotations

import socket
from typing import Any, TypeVar

from pyspark import TaskContext

from braid.engine.commands import PROPERTY, Command
from braid.engine.locations import Locations
from braid.engine.sending.command_files import receive
from braid.engine.tasks.metering import slot_meter
from braid.engine.tasks.task import Task
from braid.engine.tasks.worker.allowance import obey
from braid.engine.tasks.worker.process import settle
from braid.state.usage import Meter

C = TypeVar("C", bound=Command[Any])


def current_task(
    kind: type[C], locations: Locations, slots: int | None = None, slot: int | None = None
) -> tuple[Task, C, Meter]:
    """This task's identity, its command, and a meter: a job over the anchor has one partition per slot.

    `slots` is their number, None at ingest and where no segments are read; `slot` the task's own, if that is not the
    number of its partition. Reading the command is counted.
    """
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in Spark tasks only")
    text = context.getLocalProperty(PROPERTY)
    if not text:
        raise RuntimeError("the task has no command: the job was started outside a step")
    settle()
    own = own_partition() if slot is None else slot
    task = Task(own, context.taskAttemptId(), socket.gethostname())
    meter = Meter() if slots is None else slot_meter(task.slot, slots)
    with meter.running():
        command = receive(kind, text, task.slot, locations.checkpoint)
    obey(locations, command)
    return task, command, meter


def own_partition() -> int:
    """The number of this task's partition."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in Spark tasks only")
    return int(context.partitionId())
