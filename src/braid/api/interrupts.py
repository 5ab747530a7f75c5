"""Ctrl-C during a run: the current step ends first, then the run."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Let Ctrl-C only raise KeyboardInterrupt here.

    The handler that PySpark installs also cancels every job of the session, and so fails the current step. A user's own
    handler stays. Other threads than the main one receive no signals, and are not changed.
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
