"""Every verdict can come out either way: each target is given records that meet it, contradict it, and disagree."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from benchmarks.answers import Answer
from benchmarks.campaign import Result
from benchmarks.suite import BENCHMARKS
from benchmarks.targets import Results, Target, rate_ratio, step_ratio
from benchmarks.tasks import Measurement, Task
from tests.benchmarks.small_task import TASK

SIZES = ("quick", "full")
LISTED = [
    (name, size, number)
    for name, make in BENCHMARKS.items()
    for size in SIZES
    for number, target in enumerate(make(size).targets)
    if target.bound
]


def measured(seconds: tuple[float, ...], rows: int = 100, **more: Any) -> Measurement:
    return Measurement(seconds=seconds, rows=(rows,) * len(seconds), **more)


def test_a_bound_on_times_is_decided_by_three_rounds_that_agree() -> None:
    def round_of(step: float) -> Results:
        one, other = measured((0.0, 0.0, step, step)), measured((1.0,) * 4)
        return {"a": Result(TASK, one, None), "b": Result(TASK, other, None)}

    quick, slow = round_of(0.25), round_of(4.0)
    target = Target("", rate_ratio("a", "b"), at_least=2)
    assert target.check([quick] * 3).outcome == "met"
    assert target.check([slow] * 3).outcome == "missed"
    assert target.check([quick, slow, quick]).outcome == "undecided"
    assert target.check([quick] * 2).outcome == "undecided"
    assert target.check([slow]).outcome == "undecided"
    assert Target("", step_ratio("a", "b"), at_most=2).check([slow] * 3).outcome == "missed"
    assert Target("", step_ratio("a", "b"), at_most=2).check([quick] * 3).outcome == "met"
    assert Target("", rate_ratio("a", "b")).check([quick]).outcome == "for comparison"
    assert target.check([quick, slow, slow]).values == (4.0, 0.25, 0.25)


def test_a_bound_on_sizes_needs_one_round() -> None:
    target = Target("", lambda results: float(len(results)), at_most=1, of="sizes")
    one = {"a": Result(TASK, measured((1.0,) * 4), None)}
    assert target.check([one]).outcome == "met"
    assert target.check([{**one, "b": one["a"]}]).outcome == "missed"


def test_what_was_not_measured_has_no_verdict() -> None:
    refused = {"a": Result(TASK, Measurement(error="refused"), None)}
    target = Target("", rate_ratio("a", "b"), at_least=1)
    assert target.check([refused] * 3).outcome == "not measured"  # of an earlier record, without "b"
    assert target.check([{**refused, "b": refused["a"]}] * 3).outcome == "not measured"


def made_up(task: Task, step: float, scale: float) -> Result:
    """A result with steps of a given time, later ones longer by `scale`, and sizes that follow it too."""
    steps = tuple(step if number < task.batches / 2 else step * scale for number in range(task.batches))
    details = {
        "compared": 1e9 / scale,
        "state_bytes": 1_000 * scale,
        "arrow_bytes": 1_000,
        "peak_bytes": 1_000 * scale,
        "at_once": task.peer in ("Flink", "Pathway", "DuckDB", "DuckDB tuned", "Polars"),
    }
    return Result(task, measured(steps, answer=Answer(1, "1"), details=details), Answer(1, "1"))


def outcomes(target: Target, tasks: dict[str, Task]) -> set[str]:
    """What a target says of records in which one task, another or all are fast or slow."""
    found = set()
    for odd in (None, *tasks):
        for slow in (1e-6, 1e6):
            one = {
                label: made_up(task, slow if label == odd else 1.0, slow if odd in (None, label) else 1.0)
                for label, task in tasks.items()
            }
            found.add(target.check([one] * 3).outcome)
    return found


@pytest.mark.parametrize(("name", "size", "number"), LISTED)
def test_every_target_of_the_suite_can_be_met_and_missed(name: str, size: Any, number: int) -> None:
    benchmark = BENCHMARKS[name](size)
    found = outcomes(benchmark.targets[number], benchmark.tasks)
    assert {"met", "missed"} <= found


@pytest.mark.parametrize(("name", "size", "number"), LISTED)
def test_every_timed_target_is_undecided_where_rounds_contradict_each_other(name: str, size: Any, number: int) -> None:
    benchmark = BENCHMARKS[name](size)
    target = benchmark.targets[number]
    values = iter((1e12, 1e-12, 1e12))
    split = replace(target, figure=lambda _: next(values))
    assert split.check([{}] * 3).outcome == "undecided"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_targets_name_tasks_that_there_are(name: str) -> None:
    for size in SIZES:
        benchmark = BENCHMARKS[name](size)
        results = {label: made_up(task, 1.0, 1.0) for label, task in benchmark.tasks.items()}
        for target in benchmark.targets:
            assert target.figure(results) is not None, target.description
