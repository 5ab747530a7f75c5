"""A task: what it knows besides its command, and the names of the files it writes.

A file's name begins with its run and its step (`state/sweeping.py`), and has the slot and the attempt: no other attempt
writes the same file, and names sort by slot.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from braid.engine.commands import Command
from braid.engine.locations import Locations
from braid.plan.join import JoinPlan
from braid.state.files import Files

# Run, step, kind and slot of a file's name.
_NAME = re.compile(r"[^-]+-\d+-(?:[\d.]+-)?\D*(\d+)-\d+")


@dataclass(frozen=True)
class Task:
    """The attempt of a task: of a slot, or at ingest of a partition of the input."""

    slot: int
    attempt: int
    host: str = ""

    def file_name(self, command: Command[Any], kind: str) -> str:
        return f"{command.run[:8]}-{command.step:012d}-{kind}{self.slot:05d}-{self.attempt}"


def writing_slot(file: str, slots: int) -> int | None:
    """The slot whose task wrote a file; None if the name is no task's.

    Ingest tasks have partitions of the input instead of slots: partition n counts as slot n modulo their number.
    """
    found = _NAME.match(file)
    return None if found is None else int(found[1]) % slots


@dataclass(frozen=True)
class SlotTask:
    """A task of one slot, in a job with one task per slot."""

    plan: JoinPlan
    locations: Locations
    slots: int
    task: Task

    @property
    def slot(self) -> int:
        return self.task.slot

    def block_path(self, name: str, site: str | None = None) -> tuple[Files, str]:
        """Where a block of this name is written; one of a site may be in its own storage."""
        files, blocks = self.locations.open_blocks(site)
        return files, f"{blocks}/{name}"
