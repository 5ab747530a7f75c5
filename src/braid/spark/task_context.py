"""The identity and the command of a task; only inside Spark's Python workers."""

from __future__ import annotations

import socket
from typing import Any

from pyspark import TaskContext

from braid.engine.commands import PROPERTY, decode
from braid.engine.tasks.process import settle
from braid.engine.tasks.work import Task


def current_task() -> tuple[Task, dict[str, Any]]:
    """This task's identity, and its command."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in Spark tasks only")
    command = context.getLocalProperty(PROPERTY)
    if not command:
        raise RuntimeError("the task has no command: the job was started outside a step")
    settle()
    task = Task(context.partitionId(), context.taskAttemptId(), socket.gethostname())
    return task, decode(command)
