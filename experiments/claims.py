"""Claims of a paper, each judged from what was measured; what the spread of repeated runs does not decide is undecided.

A claim runs nothing: its judge is a pure function of the measured JSON, so a record can be judged again, and a record
that contradicts the claim must be refused by it.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Measured = dict[str, Any]
"""What an experiment measured, as JSON."""

LEAST_ROUNDS = 3
"""Fewer rounds have no spread to speak of, so nothing is decided by them."""


@dataclass(frozen=True)
class Verdict:
    """What was found here, and whether the claim holds; None: undecided.

    `why` is the likely reason, to be printed where the claim does not hold.
    """

    here: str
    holds: bool | None
    why: str = ""


@dataclass(frozen=True)
class Claim:
    """One finding as printed, and how it is judged. `name` is unique in its experiment and does not change.

    `certain` says why the claim cannot come out otherwise, where it is true by construction.
    """

    name: str
    text: str
    paper: str
    judge: Callable[[Measured], Verdict]
    certain: str = ""


@dataclass(frozen=True)
class Judged:
    """A claim and its verdict on one record."""

    claim: Claim
    verdict: Verdict

    @property
    def word(self) -> str:
        """By construction is said only of what also came out so."""
        if self.verdict.holds and self.claim.certain:
            return "by construction"
        return {True: "holds", False: "does not hold", None: "undecided"}[self.verdict.holds]


def agreed(rounds: Iterable[bool]) -> bool | None:
    """What every round says; None where they differ, since then noise decides, or where there are too few of them."""
    said = list(rounds)
    return said[0] if len(said) >= LEAST_ROUNDS and len(set(said)) == 1 else None


def all_of(*verdicts: bool | None) -> bool | None:
    """Whether all hold; one that does not decides, and else one that is undecided."""
    if False in verdicts:
        return False
    return None if None in verdicts else True


def within(value: float, expected: float, share: float) -> bool:
    return abs(value - expected) <= share * abs(expected)


@dataclass(frozen=True)
class Ratio:
    """One variant over another, in each round."""

    values: tuple[float, ...]

    @staticmethod
    def of(one: Sequence[float], other: Sequence[float]) -> Ratio:
        return Ratio(tuple(a / b for a, b in zip(one, other, strict=True)))

    @property
    def median(self) -> float:
        return statistics.median(self.values)

    def above(self, bound: float) -> bool | None:
        return agreed(value > bound for value in self.values)

    def below(self, bound: float) -> bool | None:
        return agreed(value < bound for value in self.values)

    def __str__(self) -> str:
        return f"{self.median:.2f} ({min(self.values):.2f} to {max(self.values):.2f})"
