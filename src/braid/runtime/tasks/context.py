"""Who a task is, and what it was told to do; inside Spark's Python workers only."""

from __future__ import annotations

import gc
import socket
import sys
from typing import Any

from pyspark import TaskContext

from braid.runtime.orders import PROPERTY, decode
from braid.runtime.tasks.work import Task

_settled_modules = 0


def current_task() -> tuple[Task, dict[str, Any]]:
    """Who this task is, and its order."""
    context = TaskContext.get()
    if context is None:
        raise RuntimeError("this runs in Spark tasks only")
    order = context.getLocalProperty(PROPERTY)
    if not order:
        raise RuntimeError("the task has no order: the job was started outside a step")
    _settle_modules()
    task = Task(context.partitionId(), context.taskAttemptId(), socket.gethostname())
    return task, decode(order)


def _settle_modules() -> None:
    """Leave what is imported out of the garbage collection that Spark asks for after every task.

    The collector would walk the objects of all modules, for longer than a small task takes.
    """
    global _settled_modules
    if len(sys.modules) != _settled_modules:
        gc.collect()
        gc.freeze()
        _settled_modules = len(sys.modules)
