"""Files that a task is writing: whatever it leaves open is closed when it ends, also if it fails.

A failed task does not reach the end of its writers, and its error keeps them alive until the garbage collector runs:
the worker would run out of file descriptors, and the files would be closed at any later moment, in any order.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar

_OPENED: ContextVar[list[ExitStack] | None] = ContextVar("outputs of the current task", default=None)


def output_stack() -> ExitStack:
    """A stack for a file and its writer; it is closed at the end of the current task at the latest."""
    stack, opened = ExitStack(), _OPENED.get()
    if opened is not None:
        opened.append(stack)
    return stack


@contextmanager
def closing_outputs() -> Iterator[None]:
    """Around a task: close what it leaves open. No record names such a file, so it is swept with its step."""
    opened: list[ExitStack] = []
    token = _OPENED.set(opened)
    try:
        yield
    finally:
        _OPENED.reset(token)
        for stack in opened:
            with suppress(Exception):  # the task has failed, and its own error is the one to report
                stack.close()
