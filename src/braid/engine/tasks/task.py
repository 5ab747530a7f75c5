"""A task: what it knows besides its command, and the names of the files it writes.

A file's name begins with its run and its step (`state/sweeping.py`), and has the slot and the attempt: no other attempt
writes the same file, and names sort by slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from braid.engine.commands import Command
from braid.engine.locations import Locations
from braid.plan.join import JoinPlan
from braid.state.files import Files


@dataclass(frozen=True)
class Task:
    """The attempt of a task: of a slot, or at ingest of a partition of the input."""

    slot: int
    attempt: int
    host: str = ""

    def file_name(self, command: Command[Any], kind: str) -> str:
        return f"{command.run[:8]}-{command.step:012d}-{kind}{self.slot:05d}-{self.attempt}"


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

    def block_path(self, name: str) -> tuple[Files, str]:
        """Where a block of this name is written."""
        files, checkpoint = self.locations.open_checkpoint()
        return files, f"{checkpoint}/blocks/{name}"
