"""Child processes that lead a group of their own, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess


def end_group(child: subprocess.Popen[bytes]) -> None:
    """End a child with everything it started; its JVM, above all, must not outlive it."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        child.wait()
