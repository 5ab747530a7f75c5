"""The Spark streaming query of a run: restarted after a conflict with an older run, stopped by a newer one.

Spark keeps its own log in the checkpoint. While an older run is active, both queries may write the same entry, and
Spark stops the second one. The newer run then starts its query again: by then the log has the batch that the older one
planned, and the older one stops at its next step.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from braid.errors import BraidError

MEETINGS = re.compile(
    r"CONCURRENT_STREAM_LOG_UPDATE|[Cc]oncurrent update to the log|[Mm]ultiple streaming (jobs|queries)"
    r"|FileAlreadyExistsException|STREAMING_QUERY_ALREADY_ACTIVE|CHECKPOINT_LOCATION_NOT_EMPTY"
)
"""Spark's message when two queries have written the same entry of its log."""
RESTARTS = 10
"""An older run stops after one step, so conflicts are few; more mean that something else writes the log."""
OWNERSHIP_SECONDS = 10
"""How often a run without new rows checks for a newer one; a run with rows checks at every step."""


def supervise(start: Callable[[], StreamingQuery], require_owner: Callable[[], None]) -> SupervisedQuery:
    """A started query, and a thread that watches it."""
    supervised = SupervisedQuery(_begin(start, require_owner))
    watched = partial(supervised.watch, start, require_owner)
    threading.Thread(target=watched, name="braid-watch", daemon=True).start()
    return supervised


class SupervisedQuery:
    """Has the methods of Spark's query that a run uses. `query` is running."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._taken_over: BraidError | None = None

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark's
        return not self._over.is_set()

    def has_ended(self) -> bool:
        return self._over.is_set()

    @property
    def status(self) -> dict[str, Any]:
        return dict(self._query.status)

    @property
    def group(self) -> str:
        """The group of Spark's jobs that the query runs in."""
        return str(self._query.runId)

    @property
    def taken_over(self) -> BraidError | None:
        """The error that a newer run has taken over, if that ended the query."""
        return self._taken_over

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - as Spark's
        """Whether the query ended in time; raises Spark's error if it failed."""
        if not self._over.wait(timeout):
            return False
        self._query.awaitTermination()  # it has ended, and raises if it failed
        return True

    def exception(self) -> Exception | None:
        return self._query.exception()

    def stop(self) -> None:
        self._stopping.set()
        self._query.stop()
        self._over.wait()

    def watch(self, start: Callable[[], StreamingQuery], require_owner: Callable[[], None]) -> None:
        """Wait until the query ends, and start it again if an older run of the checkpoint ended it.

        Both functions belong to the run. They are known here alone, so that a run that has ended is freed once its user
        drops it, and one that is active is not.
        """
        try:
            restarts = 0
            while True:
                self._await_query(require_owner)
                if restarts == RESTARTS or not self._met_another_run(require_owner):
                    return
                restarts += 1
                self._query = _begin(start, require_owner)
        except BraidError as error:
            self._taken_over = error
            with suppress(PySparkException, Py4JError):
                self._query.stop()
        except (PySparkException, Py4JError, OSError):
            return  # the session has ended; awaitTermination reports it
        finally:
            self._over.set()

    def _await_query(self, require_owner: Callable[[], None]) -> None:
        """Wait until the query has ended, and check the ownership meanwhile."""
        with suppress(PySparkException):
            while not self._query.awaitTermination(OWNERSHIP_SECONDS):
                require_owner()

    def _met_another_run(self, require_owner: Callable[[], None]) -> bool:
        failed = self._query.exception()
        if failed is None or self._stopping.is_set() or MEETINGS.search(str(failed)) is None:
            return False
        require_owner()
        return True


def _begin(start: Callable[[], StreamingQuery], require_owner: Callable[[], None]) -> StreamingQuery:
    """Start the query; two that start at once conflict where Spark creates its log."""
    for _ in range(RESTARTS):
        try:
            return start()
        except (PySparkException, Py4JError) as error:
            if MEETINGS.search(str(error)) is None:
                raise
        require_owner()
    return start()
