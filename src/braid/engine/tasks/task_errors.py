"""Errors of tasks as reports: what a retry cannot mend reaches the driver whole and at once, without JVM stacks."""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from braid import errors
from braid.errors import BraidError, CorruptStateError, PredicateError, RunFailedError, shortened, text_of

TASK_ERRORS = (PredicateError, CorruptStateError, pa.ArrowException)
MOST_FRAMES, MOST_TEXT = 8, 2000


def with_task_errors(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The report of the work, or of the error that ended it if a retry would only meet it again."""
    try:
        return work()
    except TASK_ERRORS as error:
        return serialize_error(error)


def serialize_error(error: BraidError | pa.ArrowException) -> dict[str, Any]:
    """An error as a report; its cause, a user's own exception, goes along as text."""
    if not isinstance(error, BraidError):
        error = _too_large(error)
    detail = "\n".join(text for text in (error.detail, _user_traceback(error.__cause__)) if text)
    return {"error": type(error).__name__, "message": error.message, "detail": detail, "hint": error.hint}


def _user_traceback(cause: BaseException | None) -> str:
    """Where a user's own exception came from, without the frames before it; at most a page."""
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
    """What it means if an array became too large; any other problem of Arrow's is raised, and the task run again."""
    if not isinstance(error, pa.ArrowCapacityError) and "overflow" not in str(error):
        raise error
    return RunFailedError(
        "A single row, or a single result, holds more than the 2 GB that a column can hold in memory.",
        detail=shortened(str(error), 1000),
        hint="Keep such values out of the streams, or refer to them by a key, then start the query again.",
    )


def raise_task_error(report: dict[str, Any]) -> None:
    """Raise on the driver the error that a task told."""
    if "error" in report:
        kind = getattr(errors, report["error"], BraidError)
        raise kind(report["message"], report["detail"], report["hint"])
