"""The lock around a step: one step at a time, and the thread that runs it is known.

A user's function runs inside a step. Its calls on its own run must not wait for that step to end.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from braid.errors import QueryError


class StepLock:
    """A lock that knows whether the calling thread has it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owner: int | None = None

    @property
    def is_mine(self) -> bool:
        """Whether the calling thread is inside a step."""
        return self._owner == threading.get_ident()

    def acquire(self, timeout: float = -1) -> bool:
        """Whether the lock could be acquired in time; -1 waits without a limit."""
        taken = self._lock.acquire(timeout=timeout)
        if taken:
            self._owner = threading.get_ident()
        return taken

    def release(self) -> None:
        self._owner = None
        self._lock.release()

    @contextmanager
    def locked(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()

    def refuse_inside(self, verb: str, reason: str) -> None:
        """Refuse a call inside a step of the run itself."""
        if self.is_mine:
            raise QueryError(
                f"run.{verb}() was called inside a step of the run itself: {reason}.",
                hint="Call it outside foreachBatch. run.stop() may be called there: the run then ends after the step.",
            )
