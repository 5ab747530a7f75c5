"""Idleness: which streams have been silent for so long that the others no longer wait for them.

Silence is measured from the start of the run to the last check of the sources. Time without a check does not count as
silence, nor does time in which the source had unread rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from braid.control.watermarks import StepTimes, decide_times
from braid.plan.join import JoinPlan
from braid.state.manifest import Mark


@dataclass(frozen=True)
class SourceCheck:
    """A check of the sources: when, and which streams had rows there that the run has not read."""

    checked_ms: int
    unread: tuple[bool, ...]


class Silence:
    """The silence of a query's streams in one run."""

    def __init__(self, plan: JoinPlan, started_ms: int) -> None:
        self._plan = plan
        self._started_ms = started_ms
        self.none_idle = (False,) * len(plan.streams)
        self.no_rows = (None,) * len(plan.streams)

    def all_read(self, now_ms: int) -> SourceCheck:
        """A check that finds every source read to the end."""
        return SourceCheck(now_ms, self.none_idle)

    def idle(
        self, marks: Sequence[Mark], check: SourceCheck, newest: Sequence[int | None] | None = None
    ) -> tuple[bool, ...]:
        """Which streams are idle in a step with rows up to `newest`, by default without rows.

        A stream is idle only if its source was read to the end at the check, and no row had arrived for long enough.
        """
        newest_in_step = self.no_rows if newest is None else newest
        return tuple(
            stream.idle_after_ms is not None
            and seen is None
            and not unread
            and check.checked_ms - max(mark.active_ms, self._started_ms) >= stream.idle_after_ms
            for stream, mark, unread, seen in zip(self._plan.streams, marks, check.unread, newest_in_step, strict=True)
        )

    def raises(self, marks: Sequence[Mark], times: StepTimes) -> bool:
        """Whether an idle stream would take a later watermark than its own."""
        return times.watermarks != decide_times(self._plan, marks, self.none_idle).watermarks
