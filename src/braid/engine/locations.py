"""The locations of a run, for the driver and its tasks."""

from __future__ import annotations

from dataclasses import dataclass

from braid.plan.memory import TaskMemory
from braid.state.files import Files, locate


@dataclass(frozen=True)
class Locations:
    """The locations of a run, as the user wrote them; tasks open them with their own filesystems.

    `discard`: results are only counted. `timed`: ordered results have their result time, for a reader that sorts.
    `step_column`: the column with the step number of each result, if there is one. `memory`: what tasks may hold; None:
    no limit.
    """

    checkpoint: str
    staging: str
    compression: str
    discard: bool = False
    timed: bool = False
    step_column: str | None = None
    memory: TaskMemory | None = None

    def open_checkpoint(self) -> tuple[Files, str]:
        return locate(self.checkpoint)

    def open_staging(self) -> tuple[Files, str]:
        return locate(self.staging)
