"""Terms under way: how many jobs a step runs for them, and what they keep from expiring, merging and being emitted.

One job of a step runs one round of every term, the new step's own among them. A step runs as few jobs as the number of
steps allows that may be under way at once.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from operator import itemgetter

from braid.control.watermarks import later
from braid.plan.instants import EARLIEST_US
from braid.plan.join import JoinPlan
from braid.state.manifest import Block, DeltaRecord
from braid.state.observed.groups import Push
from braid.state.terms import Term

Marks = tuple[int | None, ...]


def term_of(delta: DeltaRecord) -> Term:
    """The term of a step, before its first round."""
    oldest = min((block.min_time for block in delta.blocks), default=EARLIEST_US)
    return Term(delta.step, delta.watermarks, delta.join_orders, delta.check_order, oldest, delta.now_ms)


def jobs_of(terms: Sequence[Term], interleave: int) -> int:
    """How many jobs leave fewer than `interleave` terms unfinished, the step's own among `terms`.

    So with the rows of the next step at most `interleave` steps are under way. 1: the step finishes all of them. Every
    step runs as many as a steady query needs: fewer would only be followed by more.
    """
    left = sorted((term.rounds_left for term in terms), reverse=True)
    steady = max((-(-term.rounds // interleave) for term in terms), default=1)
    return max(steady, left[interleave - 1]) if len(left) >= interleave else steady


def unfinished_after(terms: Sequence[Term], interleave: int) -> tuple[Term, ...]:
    """The terms, as they are before a step, that may be unfinished after it; one without rows left ends earlier."""
    jobs = jobs_of(terms, interleave)
    return tuple(term for term in terms if term.rounds_left > jobs)


def oldest_watermarks(terms: Sequence[Term], watermarks: Marks, pushes: Sequence[Push] = ()) -> Marks:
    """The watermarks by which rows expire: those of the oldest unfinished term or push, which are the lowest."""
    waiting = [(term.step, term.watermarks) for term in terms] + [(push.step, push.watermarks) for push in pushes]
    return min(waiting, key=itemgetter(0))[1] if waiting else watermarks


def frontier_before(
    plan: JoinPlan, terms: Sequence[Term], before_us: int | None, frontier_us: int | None
) -> int | None:
    """How far ordered results may be emitted while these terms are unfinished, after those up to `before_us`.

    A term finds no result older than its oldest row. Where results of one time are emitted together, those of that
    time wait for it too.
    """
    if not terms or frontier_us is None:
        return frontier_us
    oldest = min(term.oldest_us for term in terms) - (1 if plan.per_timestamp else 0)
    return later(before_us, min(frontier_us, oldest))


def interval_of(terms: Sequence[Term]) -> Callable[[Block], int]:
    """The function that says in which interval of steps a block is; only blocks of one interval may be merged.

    A term of step b separates blocks of steps before b, of b, and after b.
    """
    boundaries = sorted({step for term in terms for step in (term.step, term.step + 1)})
    return lambda block: bisect_right(boundaries, block.first_step)
