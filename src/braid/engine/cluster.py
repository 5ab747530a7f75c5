"""What a step needs to run its tasks: Spark in production, a single process in tests."""

from __future__ import annotations

from typing import Any, Protocol

from braid.engine.commands import AggregateCommand, IngestCommand, ProbeCommand, RankCommand, ReleaseCommand
from braid.plan.layout import Layout


class Cluster(Protocol):
    """Runs the tasks of a step and returns their reports."""

    slots: int
    ingest_tasks: int
    """The largest number of tasks that one ingest can have, over all streams."""

    def follow_cores(self) -> None:
        """Between two steps: adapt the number of slots to the cores there are now."""
        ...

    def request_cores(self, layout: Layout) -> str | None:
        """Request the cores that a layout can use; the request and its outcome, None if nothing was requested."""
        ...

    def ingest(self, command: IngestCommand) -> list[dict[str, Any]]:
        """Ingest the rows of the current batch: one report per task."""
        ...

    def probe(self, command: ProbeCommand) -> list[dict[str, Any]]:
        """Run one probe job: one report per slot."""
        ...

    def update_aggregate(self, command: AggregateCommand) -> list[dict[str, Any]]:
        """Add a step's partial aggregates to the aggregate state: one report per slot."""
        ...

    def rank(self, command: RankCommand) -> list[dict[str, Any]]:
        """Rank the rows of row-based windows."""
        ...

    def release(self, command: ReleaseCommand) -> list[dict[str, Any]]:
        """Emit buffered results in order."""
        ...

    def needs_own_round(self, command: ProbeCommand, round_number: int) -> bool:
        """Whether a round must end its job because the JVM filters what it finds."""
        ...
