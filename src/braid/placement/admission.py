"""Admission: which stored rows a step starts its lookups from, and which stored rows a lookup sees.

A row is admitted once: in the step it arrives in, or, where rows are buffered for ordered results, in the step in which
every stream has reached its time. Rows of a *buffered* block that are newer than the frontier are not admitted yet.

    Delta rows of stream i see, of a stream before i, what was admitted up to this step;
    of a stream after i, what was admitted in earlier steps.

Blocks of later steps are invisible: the rounds of a step may run when later steps have stored rows. So every result is
found once, by the last of its rows to be admitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.placement.deferral import CleanUp
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.state.manifest import Block

Covers = Literal["new", "earlier"]
"""Which rows probe: the `new` ones, which this step admits; or again all that `earlier` steps have admitted."""

ALWAYS = EARLIEST_US - 1
"""Before every event time: all times are later. The frontier of a query that has emitted nothing."""
NEVER = LATEST_US


@dataclass(frozen=True)
class Admission:
    """Earlier steps admitted rows of buffered blocks up to event time `before_us`, this one those up to `now_us`.

    In a `clean_up` of a join of so many `streams` the rows of earlier steps start again.
    """

    step: int
    before_us: int = ALWAYS
    now_us: int = NEVER
    covers: Covers = "new"
    clean_up: CleanUp | None = None
    streams: int = 0

    def starting(self, block: Block) -> tuple[int, int] | None:
        """The event times (after, until] of a block's rows that probe in this step; None if none does."""
        if block.first_step > self.step:
            return None
        if self.clean_up is not None:
            within = self.clean_up.first_step <= block.last_step <= self.clean_up.last_step
            return (ALWAYS, NEVER) if within and self.clean_up.starts(block.stream, self.streams) else None
        if self.covers == "earlier":
            return ALWAYS, self.before_us if block.buffered else NEVER
        if block.last_step < self.step and not block.buffered:
            return None
        after = self.before_us if block.last_step < self.step else ALWAYS
        return (after, self.now_us) if block.max_time > after and block.min_time <= self.now_us else None

    def seen_until(self, block: Block, before: bool) -> int | None:
        """The event time up to which a block's rows are visible to delta rows; None if none is.

        `before`: the block's stream comes before the delta stream.
        """
        until: int | None = NEVER
        if block.first_step > self.step:
            return None
        if self.clean_up is not None:
            return NEVER  # which parts are visible depends on the group of a row
        if self.covers == "earlier":
            until = self.before_us if block.buffered else NEVER
        elif before:
            until = self.now_us if block.buffered or block.last_step == self.step else NEVER
        elif block.last_step == self.step:
            until = None
        elif block.buffered:
            until = self.before_us
        return None if until is None or block.min_time > until else until
