"""Ctrl-C during a run: the step under way ends first, then the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C only raise KeyboardInterrupt here.

    The handler that PySpark installs also cancels every job of the session, and so fails the step under way. A handler
    of the user's own stays, and so does any in threads other than the main one, which receive no signals.
    """
    before = signal.getsignal(signal.SIGINT)
    from_spark = str(getattr(before, "__module__", "")).startswith("pyspark.")
    if threading.current_thread() is not threading.main_thread() or not from_spark:
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
