"""What is to be reached: a figure made of measurements, and the bound it must keep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from benchmarks.campaign import Result

Results = Mapping[str, Result]
Figure = Callable[[Results], float | None]


@dataclass(frozen=True)
class Target:
    """A figure with a lower or an upper bound, or none where it is told for comparison."""

    description: str
    figure: Figure
    at_least: float | None = None
    at_most: float | None = None

    def check(self, results: Results) -> Verdict:
        value = self.figure(results)
        met = None
        if value is not None and self.at_least is not None:
            met = value >= self.at_least
        elif value is not None and self.at_most is not None:
            met = value <= self.at_most
        bound = f"≥ {self.at_least:g}" if self.at_least is not None else ""
        bound = f"≤ {self.at_most:g}" if self.at_most is not None else bound
        return Verdict(self.description, value, bound, met)


@dataclass(frozen=True)
class Verdict:
    """A target's figure in one run. `met` is None where there is no bound, or no figure."""

    description: str
    value: float | None
    bound: str
    met: bool | None

    def record(self) -> dict[str, Any]:
        value = None if self.value is None else float(f"{self.value:.4g}")
        return {"description": self.description, "value": value, "bound": self.bound, "met": self.met}

    @property
    def text(self) -> str:
        if self.value is None:
            return "not measured"
        return {True: "met", False: "missed", None: "for comparison"}[self.met]


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
