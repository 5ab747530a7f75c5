"""The highest rate with results in time: which rate to offer next, and what the rates tried so far have shown.

Only a rate that was offered counts. Between the highest that kept a bound and the lowest above it that did not, nothing
is claimed. That one is offered twice: a pause of some seconds, which any system can have, fails a rate that it holds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

BOUNDS = (1.0, 5.0)  # seconds of lateness that 99 of 100 rows must keep
CLOSE = 1.3  # the search ends when kept and failed rates are this near to each other
STEP = 1.6  # from one rate to the next, until one keeps a bound and one does not; one rate between them is then enough
MOST_TRIES = 10
LOWEST_SHARE = 1 / 4  # of the first rate; a system that is late even there holds no rate worth the time


@dataclass(frozen=True)
class Tried:
    """One offered rate. Without a p99 no result came; rows without results at the end are as late as the end."""

    rate: float
    p50: float | None = None
    p99: float | None = None
    answer: Literal["right", "wrong", "incomplete"] = "incomplete"
    error: str | None = None

    def keeps(self, bound: float) -> bool:
        return self.error is None and self.p99 is not None and self.p99 <= bound and self.answer == "right"


def tried_of(details: dict[str, Any]) -> list[Tried]:
    """The tries that a record keeps."""
    return [Tried(**one) for one in details.get("tried", [])]


def best_rate(tried: Sequence[Tried], bound: float) -> float | None:
    """The highest rate that was offered and kept the bound."""
    return max((one.rate for one in tried if one.keeps(bound)), default=None)


def next_rate(tried: Sequence[Tried], first: float) -> float | None:
    """A step up until the largest bound fails, a step down until the smallest holds, then between; failures again."""
    if not tried:
        return first
    if len(tried) >= MOST_TRIES:
        return None
    highest, lowest = (choose(one.rate for one in tried) for choose in (max, min))
    if all(one.keeps(BOUNDS[-1]) for one in tried):
        return STEP * highest
    for bound in BOUNDS:
        kept = best_rate(tried, bound)
        if kept is None:
            if lowest > first * LOWEST_SHARE:
                return lowest / STEP
            continue
        failed = [one.rate for one in tried if one.rate > kept]
        if not failed:
            return STEP * kept
        if min(failed) > kept * CLOSE:
            return math.sqrt(kept * min(failed))
    return _failed_once(tried)


def _failed_once(tried: Sequence[Tried]) -> float | None:
    """A rate that ends the search for a bound, but was offered only once."""
    offered = [one.rate for one in tried]
    for bound in BOUNDS:
        kept = best_rate(tried, bound)
        if kept is not None:
            failed = min(rate for rate in offered if rate > kept)
            if offered.count(failed) == 1:
                return failed
    return None
