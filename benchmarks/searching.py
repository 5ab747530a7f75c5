"""The highest rate with results in time: which rate to offer next, and what the rates tried so far have shown.

Only a rate that was offered counts. Between the highest that kept a bound and the lowest above it that did not, nothing
is claimed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

BOUNDS = (1.0, 5.0)  # seconds of lateness that 99 of 100 rows must keep
CLOSE = 1.3  # the search ends when kept and failed rates are this near to each other
MOST_TRIES = 9
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
    """Twice as much until the largest bound fails, half as much until the smallest holds, then between."""
    if not tried:
        return first
    if len(tried) >= MOST_TRIES:
        return None
    highest, lowest = (choose(one.rate for one in tried) for choose in (max, min))
    if all(one.keeps(BOUNDS[-1]) for one in tried):
        return 2 * highest
    for bound in BOUNDS:
        kept = best_rate(tried, bound)
        if kept is None:
            if lowest > first * LOWEST_SHARE:
                return lowest / 2
            continue
        failed = [one.rate for one in tried if one.rate > kept]
        if not failed:
            return 2 * kept
        if min(failed) > kept * CLOSE:
            return math.sqrt(kept * min(failed))
    return None
