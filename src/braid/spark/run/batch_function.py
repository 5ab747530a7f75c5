"""The function that Spark calls with every batch of a query: it does not keep the run.

Py4J keeps a Python function while the JVM has the query that calls it, and the JVM keeps the query while Python has a
handle of it, as a run does. What both keep for each other would never be freed: the plans and the settings of every run
that a session ever had. An active run is kept by the thread that watches its query. PySpark keeps the error of a batch
too, and an error has the frames that it went through, with the run: Spark gets another error with the same text.
"""

from __future__ import annotations

from collections.abc import Callable
from traceback import format_exc
from weakref import WeakMethod

from pyspark.sql import DataFrame

OnBatch = Callable[[DataFrame, int], None]


class Stopping(Exception):
    """A batch that Spark started after the run was stopped; the next run reads it again."""


class BatchFailed(Exception):
    """A batch failed; the message has the traceback of the error, which the run itself reports."""


def without_keeping(on_batch: OnBatch) -> OnBatch:
    """A function that calls the method of a run, as long as there is the run."""
    method = WeakMethod(on_batch)

    def call(reports: DataFrame, batch: int) -> None:
        failure = _failure_of(method(), reports, batch)
        if failure is not None:
            raise BatchFailed(failure)

    return call


def _failure_of(on_batch: OnBatch | None, reports: DataFrame, batch: int) -> str | None:
    """The text of the error of a batch: with the error itself, its frames would be kept."""
    try:
        if on_batch is None:
            raise Stopping
        on_batch(reports, batch)
    except Exception:  # the run knows it, and reports it as its own
        return format_exc()
    return None
