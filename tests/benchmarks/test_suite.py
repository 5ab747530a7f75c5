"""The suite's own logic: what counts as steady, which tasks there are, and what a right answer is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers import Answer, expected_answer
from benchmarks.campaign import Result
from benchmarks.report.table import number
from benchmarks.suite import BENCHMARKS, FULL, QUICK
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads import synthetic
from tests.benchmarks.small_task import SMALL, TASK


def measured(seconds: tuple[float, ...], rows: int = 100, **more: Any) -> Measurement:
    return Measurement(seconds=seconds, rows=(rows,) * len(seconds), **more)


def test_the_warm_up_does_not_count() -> None:
    found = measured((9.0, 9.0, 1.0, 3.0))
    assert found.rows_per_second(TASK) == 50.0
    assert found.step_seconds(TASK, 0.5) == 2.0
    assert found.step_seconds(TASK, 0.99) == 3.0


def test_what_runs_at_once_counts_by_its_best_repeat() -> None:
    found = measured((4.0, 2.0, 5.0), details={"at_once": True})
    assert found.rows_per_second(TASK) == 50.0
    assert found.step_seconds(TASK, 0.5) is None


def test_a_system_that_gave_nothing_has_no_rate() -> None:
    assert Measurement(error="refused").rows_per_second(TASK) is None


@pytest.mark.parametrize(
    ("value", "text"), [(-0.001, "0.00"), (-0.02, "-0.02"), (1295.0, "1,295.00"), (3.06e8, "3.06e+08")]
)
def test_a_figure_has_two_places_and_a_zero_no_sign(value: float, text: str) -> None:
    assert number(value) == text


def test_a_wrong_answer_does_not_agree_and_none_is_not_wrong() -> None:
    right = Answer(3, "7")
    assert Result(TASK, Measurement(answer=right), right).agrees
    assert not Result(TASK, Measurement(answer=Answer(3, "8")), right).agrees
    assert Result(TASK, Measurement(error="refused"), None).agrees


def test_every_task_of_every_benchmark_can_be_written_down() -> None:
    assert set(QUICK) <= set(FULL) <= set(BENCHMARKS)
    for size in ("quick", "full"):
        for make in BENCHMARKS.values():
            benchmark = make(size)
            keys = [task.key for task in benchmark.tasks.values()]
            assert len(set(keys)) == len(keys), benchmark.name
            for task in benchmark.tasks.values():
                again = Task(**json.loads(json.dumps(vars_of(task))))
                assert again == task
                assert task.batches <= again.workload.batches
                assert task.warm_up < task.batches


def vars_of(task: Task) -> dict[str, Any]:
    return {name: getattr(task, name) for name in Task.__dataclass_fields__}


def test_other_options_are_another_task() -> None:
    assert replace(TASK, options={**SMALL, "skew": 1.0}).key != TASK.key
    assert replace(TASK, peer="Spark").data_key == TASK.data_key


def test_full_sizes_have_a_paced_run_beside_spark_on_its_ground() -> None:
    tasks = BENCHMARKS["equality"]("full").with_latency().tasks
    paced = {task.peer for task in tasks.values() if task.latency}
    assert paced == {"Braid", "Spark"}
    assert not any(task.latency for task in BENCHMARKS["window"]("full").with_latency().tasks.values())


def test_an_answer_by_cells_is_the_plain_one(tmp_path: Path) -> None:
    made = synthetic.nested_loop(rows_per_second=60, batches=4, matches_per_row=3)
    for _ in made.write(tmp_path):
        pass
    quick, plain = (expected_answer(one, tmp_path, 4, 2) for one in (made, replace(made, cells=None)))
    assert quick == plain
    assert plain.rows > 100


def test_an_answer_in_slices_is_the_whole_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = synthetic.band(rows_per_second=60, window_seconds=2, seconds_per_batch=0.5, batches=40, matches_per_row=3)
    for _ in made.write(tmp_path):
        pass
    whole = expected_answer(made, tmp_path, 40, 2)
    for windows in (1, 3):
        monkeypatch.setattr("benchmarks.answers.SLICE_WINDOWS", windows)
        assert expected_answer(made, tmp_path, 40, 2) == whole
    assert whole.rows > 1000
