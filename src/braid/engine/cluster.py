"""What a step needs to run its tasks: Spark in production, a single process in tests."""

from __future__ import annotations

from typing import Protocol, TypeVar

from braid.engine.commands import Command, IngestCommand, ProbeCommand, SiteCommand
from braid.engine.reports import IngestReport, SiteReport, SlotReport
from braid.plan.layout import Layout

R = TypeVar("R", bound=SlotReport)


class Cluster(Protocol):
    """Runs the tasks of a step and returns their reports; raises the error of a task that a retry cannot fix."""

    @property
    def slots(self) -> int: ...

    @property
    def ingest_tasks(self) -> int:
        """The largest number of tasks that one ingest can have, over all streams."""
        ...

    def follow_cores(self) -> None:
        """Between two steps: adapt the number of slots to the cores there are now."""
        ...

    def request_cores(self, layout: Layout) -> str | None:
        """Request the cores that a layout can use; the request and its outcome, None if nothing was requested."""
        ...

    def ingest(self, command: IngestCommand) -> list[IngestReport]:
        """Ingest the rows of the current batch: one report per task."""
        ...

    def run(self, command: Command[R]) -> list[R]:
        """Run a job with one task per slot: one report per slot."""
        ...

    def converse(self, command: SiteCommand, rounds: int) -> list[SiteReport]:
        """Run rounds of messages between slots: a report of every slot with a unit, for every round.

        The task of a slot receives what the tasks of the round before sent to it.
        """
        ...

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        """Whether a round must end its job because the JVM filters what it finds."""
        ...
