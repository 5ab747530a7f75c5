"""Task errors as reports: an error that a retry cannot fix reaches the driver complete and without JVM stacks."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa

from braid.engine.reports import TaskFailure
from braid.errors import BraidError, CorruptStateError, PredicateError, RunFailedError, shortened, text_of
from braid.state.outputs import closing_outputs

TASK_ERRORS = (PredicateError, CorruptStateError, pa.ArrowException)
MOST_FRAMES, MOST_TEXT = 8, 2000

R = TypeVar("R")


def with_task_errors(work: Callable[[], R]) -> R | TaskFailure:
    """The report of the work, or its error if a retry would fail in the same way; no file stays open."""
    try:
        with closing_outputs():
            return work()
    except TASK_ERRORS as error:
        return serialize_error(error)


def serialize_error(error: BraidError | pa.ArrowException) -> TaskFailure:
    """An error as a report; its cause, a user's own exception, is included as text."""
    if not isinstance(error, BraidError):
        error = _too_large(error)
    detail = "\n".join(text for text in (error.detail, _user_traceback(error.__cause__)) if text)
    return TaskFailure(type(error).__name__, error.message, detail, error.hint)


def _user_traceback(cause: BaseException | None) -> str:
    """The traceback of a user's own exception, without the frames of Braid; at most a page."""
    if cause is None:
        return ""
    frames = cause.__traceback__
    while frames is not None and frames.tb_next is not None and _is_own(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    # The class of the exception may be such that it cannot be printed, or chain others without an end.
    lines = ["Traceback (most recent call last):\n", *traceback.format_tb(frames, limit=-MOST_FRAMES)]
    return shortened("".join([*lines, f"{type(cause).__name__}: {text_of(cause)}"]), MOST_TEXT)


def _is_own(file: str) -> bool:
    return f"{os.sep}braid{os.sep}kernels{os.sep}" in file


def _too_large(error: pa.ArrowException) -> RunFailedError:
    """The error for an array that became too large; any other Arrow error is raised, and the task is retried."""
    if not isinstance(error, pa.ArrowCapacityError) and "overflow" not in str(error):
        raise error
    return RunFailedError(
        "A single row, or a single result, has more than the 2 GB that a column can have in memory.",
        detail=shortened(str(error), 1000),
        hint="Keep such values out of the streams, or refer to them by a key, then start the query again.",
    )
