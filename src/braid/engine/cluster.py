"""What a step needs of whoever runs its tasks: Spark in earnest, a single process in tests."""

from __future__ import annotations

from typing import Any, Protocol

from braid.engine.commands import AggregateCommand, IngestCommand, ProbeCommand, RankCommand, ReleaseCommand
from braid.plan.layout import Layout


class Cluster(Protocol):
    """Runs the tasks of a step and returns their reports."""

    slots: int

    def follow_cores(self) -> None:
        """Between two steps: let the slots be as many as there are cores now."""
        ...

    def request_cores(self, layout: Layout) -> str | None:
        """Ask for the cores that a layout can use; what was asked and what came of it, None if nothing was."""
        ...

    def ingest(self, command: IngestCommand) -> list[dict[str, Any]]:
        """Take the rows of the current batch in: one report per task."""
        ...

    def probe(self, command: ProbeCommand) -> list[dict[str, Any]]:
        """Run one probe job: one report per slot."""
        ...

    def update_aggregate(self, command: AggregateCommand) -> list[dict[str, Any]]:
        """Add a step's partial summaries to the view: one report per slot."""
        ...

    def rank(self, command: RankCommand) -> list[dict[str, Any]]:
        """Rank rows where windows count them."""
        ...

    def release(self, command: ReleaseCommand) -> list[dict[str, Any]]:
        """Let held results out in order."""
        ...

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        """Whether a round must end its job because the JVM filters what it finds."""
        ...
