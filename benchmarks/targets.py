"""What is to be reached: a figure made of measurements, and the bound it must keep.

A time differs from run to run. So a bound on a time is met or missed only if at least three rounds say the same, each
of them by itself; otherwise it is undecided.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.campaign import Result

Results = Mapping[str, Result]
"""One round: a result for each label."""
Figure = Callable[[Results], float | None]
Outcome = Literal["met", "missed", "undecided", "not measured", "for comparison"]
ROUNDS = 3


@dataclass(frozen=True)
class Target:
    """A figure with a lower or an upper bound, or none where it is told for comparison."""

    description: str
    figure: Figure
    at_least: float | None = None
    at_most: float | None = None
    of: Literal["times", "sizes"] = "times"  # sizes are the same in every round

    def check(self, rounds: Sequence[Results]) -> Verdict:
        """The figure of each round that has one, and what they decide together."""
        values = tuple(value for results in rounds if (value := self._value(results)) is not None)
        return Verdict(self.description, values, self.bound, self._outcome(values))

    @property
    def bound(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g}"
        return "" if self.at_most is None else f"≤ {self.at_most:g}"

    def _value(self, results: Results) -> float | None:
        try:
            return self.figure(results)
        except KeyError:  # an earlier record, of other tasks
            return None

    def _outcome(self, values: tuple[float, ...]) -> Outcome:
        if not values:
            return "not measured"
        if not self.bound:
            return "for comparison"
        kept = [self._keeps(value) for value in values]
        if self.of == "times" and len(values) < ROUNDS:
            return "undecided"
        return "met" if all(kept) else "undecided" if any(kept) else "missed"

    def _keeps(self, value: float) -> bool:
        if self.at_least is not None:
            return value >= self.at_least
        return self.at_most is None or value <= self.at_most


@dataclass(frozen=True)
class Verdict:
    """A target's figure in each round, and what follows."""

    description: str
    values: tuple[float, ...]
    bound: str
    outcome: Outcome

    @property
    def value(self) -> float | None:
        return statistics.median(self.values) if self.values else None


def rate_ratio(one: str, *others: str) -> Figure:
    """The rate of one over the best of the others."""

    def figure(results: Results) -> float | None:
        rate = results[one].rate
        found = [other for label in others if (other := results[label].rate) is not None]
        return None if rate is None or not found else rate / max(found)

    return figure


def step_ratio(one: str, other: str) -> Figure:
    """The median step of one over that of the other."""

    def figure(results: Results) -> float | None:
        steps = [results[label].measurement.step_seconds(results[label].task, 0.5) for label in (one, other)]
        return None if steps[0] is None or steps[1] is None else steps[0] / steps[1]

    return figure


def step_seconds(label: str, share: float) -> Figure:
    return lambda results: results[label].measurement.step_seconds(results[label].task, share)


def step_difference(one: str, other: str) -> Figure:
    """By how many seconds the median step of one is longer than that of the other."""

    def figure(results: Results) -> float | None:
        steps = [results[label].measurement.step_seconds(results[label].task, 0.5) for label in (one, other)]
        return None if steps[0] is None or steps[1] is None else steps[0] - steps[1]

    return figure


def comparisons_per_core(label: str) -> Figure:
    """Pairs compared in the steady part, for each second of it and each core."""

    def figure(results: Results) -> float | None:
        result = results[label]
        seconds = sum(result.measurement.steady(result.task)[0])
        compared = result.measurement.details.get("compared")
        return None if not compared or not seconds else compared / seconds / result.task.cores

    return figure


def detail_ratio(label: str, one: str, other: str) -> Figure:
    """One figure that a run told of itself over another."""

    def figure(results: Results) -> float | None:
        details = results[label].measurement.details
        return details[one] / details[other] if details.get(other) else None

    return figure
