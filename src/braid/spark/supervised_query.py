"""The Spark streaming query of a run, watched: started again where it met another run's, ended where that is newer.

Spark keeps a log of its own in the checkpoint. While an older run is still there, both queries may write the same
entry; Spark then ends the one that comes second, whichever that is. The newer run starts its query again: by then the
log says what the older one has planned, and the older one stops at its next step.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.streaming.query import StreamingQuery

from braid.errors import BraidError

MEETINGS = re.compile(
    r"CONCURRENT_STREAM_LOG_UPDATE|[Cc]oncurrent update to the log|[Mm]ultiple streaming (jobs|queries)"
    r"|FileAlreadyExistsException|STREAMING_QUERY_ALREADY_ACTIVE"
)
"""What Spark says when two queries have written the same entry of its log."""
RESTARTS = 10
"""An older run stops after one step, so few meetings are possible; more mean that something else writes the log."""
OWNERSHIP_SECONDS = 10
"""How often a run without new rows looks whether a newer one has taken over; one with rows looks at every step."""


class SupervisedQuery:
    """Has the methods of Spark's query that a run uses."""

    def __init__(self, start: Callable[[], StreamingQuery], require_owner: Callable[[], None]) -> None:
        self._start = start
        self._require_owner = require_owner
        self._stopping = threading.Event()
        self._over = threading.Event()
        self._query = self._begin()
        self._taken_over: BraidError | None = None
        threading.Thread(target=self._watch, name="braid-watch", daemon=True).start()

    @property
    def isActive(self) -> bool:  # noqa: N802 - as Spark's
        return not self._over.is_set()

    def has_ended(self) -> bool:
        return self._over.is_set()

    @property
    def status(self) -> dict[str, Any]:
        return dict(self._query.status)

    @property
    def taken_over(self) -> BraidError | None:
        """That a newer run has taken over, if it was this that ended the query."""
        return self._taken_over

    def awaitTermination(self, timeout: float | None = None) -> bool:  # noqa: N802 - as Spark's
        """Whether the query ended in time; raises Spark's error if it failed."""
        if not self._over.wait(timeout):
            return False
        self._query.awaitTermination()  # which is over, and raises if it failed
        return True

    def exception(self) -> Exception | None:
        return self._query.exception()

    def stop(self) -> None:
        self._stopping.set()
        self._query.stop()
        self._over.wait()

    def _watch(self) -> None:
        try:
            restarts = 0
            while True:
                self._await_query()
                if restarts == RESTARTS or not self._met_another_run():
                    return
                restarts += 1
                self._query = self._begin()
        except BraidError as error:
            self._taken_over = error
            with suppress(PySparkException, Py4JError):
                self._query.stop()
        except (PySparkException, Py4JError, OSError):
            return  # the session is gone; whoever awaits the run is told so
        finally:
            self._over.set()

    def _begin(self) -> StreamingQuery:
        """Start the query; two that start at once meet where Spark makes its log."""
        for _ in range(RESTARTS):
            try:
                return self._start()
            except (PySparkException, Py4JError) as error:
                if MEETINGS.search(str(error)) is None:
                    raise
                self._require_owner()
        return self._start()

    def _await_query(self) -> None:
        """Until the query has ended; looks after the ownership meanwhile."""
        with suppress(PySparkException):
            while not self._query.awaitTermination(OWNERSHIP_SECONDS):
                self._require_owner()

    def _met_another_run(self) -> bool:
        failed = self._query.exception()
        if failed is None or self._stopping.is_set() or MEETINGS.search(str(failed)) is None:
            return False
        self._require_owner()
        return True
