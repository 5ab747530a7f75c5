"""Which of several runs on one checkpoint may commit: the newest.

A run claims the checkpoint by creating the record `owners/<number>.json` with a number above all earlier ones. From
then on an older run stops before its next step or commit. A commit that was checked just before the claim may still
follow it: at most one step, which the newer run finds and continues from.
"""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

from braid.errors import StorageError, TakenOverError
from braid.state.files import Files
from braid.state.records import read_record, write_record

DIRECTORY = "owners"
KEPT_OWNERS = 20
"""Only the newest record decides; older ones are kept as a history of runs."""
CLAIMS = 100
"""More lost races in a row mean that the store does not create files exclusively."""


@dataclass(frozen=True)
class Ownership:
    """A run's claim to a checkpoint."""

    files: Files
    path: str
    run: str
    number: int

    def require(self) -> None:
        """TakenOverError if a newer run has claimed the checkpoint, or if the claim was deleted with its directory."""
        numbers = _numbers(self.files, self.path)
        if numbers and numbers[-1] > self.number:
            newer = read_record(self.files, _record(self.path, numbers[-1]), "owner record")
            raise TakenOverError(
                f"The checkpoint {self.path} was taken over by a newer run ({newer['run']}, process {newer['process']} "
                f"on {newer['host']}); this run ({self.run}) has stopped.",
                hint="Nothing is lost or repeated: the newer run continues where this one was. Stop a run before "
                "you start its query again.",
            )
        if self.number not in numbers:
            raise TakenOverError(
                f"The checkpoint {self.path} was replaced while this run ({self.run}) was using it: its claim is gone.",
                hint="Stop a run before its checkpoint is restored or deleted, then start the query again.",
            )


def claim(files: Files, path: str, run: str, now_ms: int, above: int = 0) -> Ownership:
    """Claim a checkpoint for a run, with a number above every earlier one and above the one given."""
    content = {"run": run, "host": socket.gethostname(), "process": os.getpid(), "claimed_ms": now_ms}
    for _ in range(CLAIMS):
        numbers = _numbers(files, path)
        number = max([above, *numbers]) + 1
        try:
            write_record(files, _record(path, number), content)
        except FileExistsError:
            continue
        for old in numbers[:-KEPT_OWNERS]:
            files.delete(_record(path, old))
        return Ownership(files, path, run, number)
    raise StorageError(
        f"Could not claim the checkpoint {path}: other runs claimed it {CLAIMS} times in a row.",
        hint="Stop the other queries that use this checkpoint, then start this one again.",
    )


def _numbers(files: Files, path: str) -> list[int]:
    names = (name.partition(".json")[0] for name in files.list(f"{path}/{DIRECTORY}") if name.endswith(".json"))
    return sorted(int(name) for name in names if name.isdigit())


def _record(path: str, number: int) -> str:
    return f"{path}/{DIRECTORY}/{number:06d}.json"
