"""Notes of how far a task is, for whoever asks for the status of a run while the task takes long.

A note is an empty file in `progress/` of the checkpoint, which driver and tasks both reach; its name has the task and
the share of its work that is done. A task begins to leave notes after a second; each takes the place of the one before,
and the last is removed when the task ends. What a dead worker leaves is swept. Notes are no state, and a task does not
fail if one cannot be written.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from braid.errors import BraidError
from braid.state.files import Files

DIRECTORY = "progress"
# People begin to wonder after this long.
FIRST_SECONDS = 1.0
# Then a note is due every second, of a long task after a twentieth of its time: storage may charge for each.
SHARE_OF_TIME = 0.05
WHOLE = 1000
_NAME = re.compile(r"(?P<task>.+)-s(?P<slot>\d+)-(?P<attempt>\d+)\.(?P<share>\d+)")


class WorkNote:
    """The note of one task, which may work in several parts, one after another; `name` is that of its files."""

    def __init__(self, files: Files, checkpoint: str, name: str, parts: int = 1) -> None:
        self._files = files
        self._path = f"{checkpoint}/{DIRECTORY}/{name}"
        self._parts, self._part = parts, 0
        self._began = time.monotonic()
        self._due = self._began + FIRST_SECONDS
        self._written: str | None = None

    def update(self, share: Callable[[], float]) -> None:
        """Leave a note that this share of the current part is done, if one is due."""
        now = time.monotonic()
        if now < self._due:
            return
        self._due = now + max(FIRST_SECONDS, SHARE_OF_TIME * (now - self._began))
        done = (self._part + min(1.0, share())) / self._parts
        self._replace(f"{self._path}.{round(WHOLE * done)}")

    def end_part(self) -> None:
        self._part += 1

    def close(self) -> None:
        self._replace(None)

    def _replace(self, path: str | None) -> None:
        before, self._written = self._written, path
        if before == path:
            return
        with suppress(OSError, BraidError):
            if path is not None:
                self._files.write_new(path, b"")
        with suppress(OSError, BraidError):
            if before is not None:
                self._files.delete(before)


@contextmanager
def noting(files: Files, checkpoint: str, name: str, parts: int = 1) -> Iterator[WorkNote]:
    """A note while a task works."""
    note = WorkNote(files, checkpoint, name, parts)
    try:
        yield note
    finally:
        note.close()


def noted_shares(files: Files, checkpoint: str, run: str, step: int) -> dict[int, float]:
    """On the driver: the share that the running task of each slot has done, of those that take long."""
    newest: dict[int, tuple[int, float]] = {}
    for name in files.list(f"{checkpoint}/{DIRECTORY}"):
        found = _NAME.fullmatch(name) if name.startswith(f"{run[:8]}-{step:012d}-") else None
        if found is not None:
            slot, noted = int(found["slot"]), (int(found["attempt"]), int(found["share"]) / WHOLE)
            newest[slot] = max(noted, newest.get(slot, noted))
    return {slot: share for slot, (_, share) in newest.items()}
