"""`Run`: a handle on a started query, like Spark's `StreamingQuery`."""

from __future__ import annotations

import sys
from typing import Any, NoReturn

from pyspark.sql import DataFrame

from braid.api.interrupts import plain_interrupts
from braid.api.missing_methods import RUN, refuse_attribute
from braid.errors import BraidError
from braid.spark.run.execution import Execution


class Run:
    """A query that was started. Returned by `writeStream.start()`."""

    def __init__(self, execution: Execution, name: str | None) -> None:
        self._execution = execution
        self._name = name

    def __repr__(self) -> str:
        name = "" if self._name is None else f"{self._name!r}, "
        return f"Run({name}id {self.id[:8]}, {'active' if self.isActive else 'ended'})"

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name, RUN)

    @property
    def id(self) -> str:
        """The query's id: the same for all runs of one checkpoint."""
        return self._execution.id

    @property
    def runId(self) -> str:
        """The id of this run."""
        return self._execution.run_id

    @property
    def name(self) -> str | None:
        return self._name

    @property
    def isActive(self) -> bool:
        return self._execution.active

    @property
    def status(self) -> dict[str, Any]:
        """What the run is doing and what waits for which stream, now: a dict that `json.dumps` takes.

        Spark's `isDataAvailable` and `isTriggerActive`, a `message`, and per stream watermarks, late and buffered rows.
        """
        return self._execution.status()

    @property
    def lastProgress(self) -> dict[str, Any] | None:
        """The record of the newest step, None before the first."""
        progress = self._execution.progress
        return progress[-1] if progress else None

    @property
    def recentProgress(self) -> list[dict[str, Any]]:
        """The records of the newest steps, the oldest first."""
        return list(self._execution.progress)

    def explain(self, stage: str | None = None) -> None:
        """Print the plan as it runs now: the layout in force, the hot keys and the observed matches.

        With the stage `now`: current watermarks, what waits for which stream, idle streams and late rows.
        """
        print(self._execution.explain(stage))

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Wait until the run ends, or for `timeout` seconds; raises the error that ended it.

        Ctrl-C ends the run after the current step, and this call with it; a second one does not wait for the step.
        """
        try:
            with plain_interrupts():
                ended = self._execution.await_end(timeout)
        except KeyboardInterrupt:
            print("Stopping after the step under way; Ctrl-C once more stops at once.", file=sys.stderr, flush=True)
            self._execution.stop()
            ended = True
        failure = self._execution.failure() if ended else None
        if failure is not None:
            raise failure
        return ended

    def exception(self) -> BraidError | None:
        """The error that ended the run, if one did."""
        return None if self.isActive else self._execution.failure()

    def stop(self) -> None:
        """End the run between two steps."""
        self._execution.stop()

    def flush(self) -> None:
        """Emit everything that waits for its order; rows earlier than the last emitted result are late from then on."""
        self._execution.flush()

    def drain(self) -> None:
        """Find all results that were deferred because of the memory limit, in steps of their own."""
        self._execution.drain()

    def totals(self) -> DataFrame:
        """The current totals of an aggregation, after the newest step: a row per group that has results."""
        return self._execution.totals()

    def late_rows(self) -> DataFrame:
        """The late rows that are kept: `stream`, `batch` (the step), `watermark`, `row` as JSON, `reason`."""
        return self._execution.late.read()
