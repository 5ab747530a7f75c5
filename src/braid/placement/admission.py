"""Admission: which stored rows a step starts its lookups from, and which of them a lookup may see.

A row is admitted once: in its step, or, where results leave in order and input waits for it, in the step in which
every stream has reached its time. Rows of a *held* block that are newer than the frontier were not admitted yet.

    a head of stream i sees, of a stream before it, what was admitted up to this step;
    of a stream after it, what was admitted in earlier steps.

So every result is found once, by the last of its rows to be admitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.state.manifest import Block

Covers = Literal["new", "earlier"]
"""What starts: the `new` rows, which this step admits; or once more all that `earlier` steps have admitted."""

ALWAYS = EARLIEST_US - 1
"""Before every event time, so that those later than it are all; the frontier of a query that has let nothing out."""
NEVER = LATEST_US


@dataclass(frozen=True)
class Admission:
    """Event times: earlier steps admitted the rows of held blocks up to `before_us`, this one those up to `now_us`."""

    step: int
    before_us: int = ALWAYS
    now_us: int = NEVER
    covers: Covers = "new"

    def starting(self, block: Block) -> tuple[int, int] | None:
        """The event times, first excluded, of a block's rows that this step looks up; None if it has none."""
        if self.covers == "earlier":
            return ALWAYS, self.before_us if block.buffered else NEVER
        if block.last_step < self.step and not block.buffered:
            return None
        after = self.before_us if block.last_step < self.step else ALWAYS
        return (after, self.now_us) if block.max_time > after and block.min_time <= self.now_us else None

    def seen_until(self, block: Block, before: bool) -> int | None:
        """The newest event time at which a head sees a block's rows; None if it sees none of them.

        `before`: the block's stream comes before the head's.
        """
        until: int | None = NEVER
        if self.covers == "earlier":
            until = self.before_us if block.buffered else NEVER
        elif before:
            until = self.now_us if block.buffered or block.last_step == self.step else NEVER
        elif block.last_step == self.step:
            until = None
        elif block.buffered:
            until = self.before_us
        return None if until is None or block.min_time > until else until
