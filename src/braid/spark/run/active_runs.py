"""The active runs of this process, by checkpoint: the newest run on a checkpoint stops the one before it."""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import Protocol

from pyspark.sql import SparkSession

from braid.errors import SinkError, TakenOverError


class ActiveRun(Protocol):
    """What a newer run needs to know of an older one, and does to it."""

    @property
    def name(self) -> str | None: ...

    @property
    def active(self) -> bool: ...

    def require_owner(self) -> None: ...

    def stop(self) -> None: ...


_RUNS: weakref.WeakValueDictionary[str, ActiveRun] = weakref.WeakValueDictionary()
_LOCK = threading.Lock()


def replace_earlier_run(checkpoint: str, run: ActiveRun) -> None:
    """Stop a run of this process on the same checkpoint: a session allows one query of an id."""
    with _LOCK:
        earlier, _RUNS[checkpoint] = _RUNS.get(checkpoint), run
    if earlier is not None and earlier.active:
        with suppress(TakenOverError):  # the older run must know why it ends, even if it makes no further step
            earlier.require_owner()
        earlier.stop()


def require_free_name(spark: SparkSession, name: str | None, checkpoint: str) -> None:
    """SinkError if another query of the session has the name; a run on the same checkpoint is stopped instead."""
    with _LOCK:
        earlier = _RUNS.get(checkpoint)
    ending = earlier is not None and earlier.active and earlier.name == name
    if name is not None and not ending and name in [query.name for query in spark.streams.active]:
        raise SinkError(
            f"A query named {name!r} is running in this session.",
            hint="Stop it first with run.stop(), or give this one another .queryName.",
        )
