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
    no limit. `site_storage` has, by name, the directories of sites that store their rows apart.
    """

    checkpoint: str
    staging: str
    compression: str
    discard: bool = False
    timed: bool = False
    step_column: str | None = None
    memory: TaskMemory | None = None
    site_storage: tuple[tuple[str, str], ...] = ()

    def open_checkpoint(self) -> tuple[Files, str]:
        return locate(self.checkpoint)

    def open_staging(self) -> tuple[Files, str]:
        return locate(self.staging)

    def open_blocks(self, site: str | None = None) -> tuple[Files, str]:
        """The directory of blocks: that of a site with storage of its own, else the checkpoint's."""
        own = dict(self.site_storage).get(site or "")
        if own is not None:
            return locate(own)
        files, checkpoint = self.open_checkpoint()
        return files, f"{checkpoint}/blocks"
