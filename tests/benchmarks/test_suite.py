"""The suite's own logic: what counts as steady, resuming, verdicts, lateness, records and the page made of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.answers import Answer, expected_answer
from benchmarks.benchmark import Benchmark
from benchmarks.campaign import Result
from benchmarks.report.page import write_page
from benchmarks.report.plots import draw
from benchmarks.report.record import Row, read_record, write_record
from benchmarks.report.table import number
from benchmarks.suite import BENCHMARKS, FULL, QUICK
from benchmarks.targets import Target, rate_ratio, step_ratio
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


def test_a_target_is_met_missed_or_not_measured() -> None:
    quick, slow = (Result(TASK, measured((0.0, 0.0, step, step)), None) for step in (1.0, 4.0))
    none = Result(TASK, Measurement(error="refused"), None)
    results = {"a": quick, "b": slow, "c": none}
    assert Target("", rate_ratio("a", "b", "c"), at_least=4).check(results).met is True
    assert Target("", rate_ratio("b", "a"), at_least=1).check(results).met is False
    assert Target("", step_ratio("b", "a"), at_most=4).check(results).met is True
    refused = Target("", rate_ratio("a", "c"), at_least=1).check(results)
    assert (refused.value, refused.met, refused.text) == (None, None, "not measured")


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


def test_a_record_becomes_a_page_and_pictures(tmp_path: Path) -> None:
    right = Answer(12, "7")
    results = {
        "Braid": Result(TASK, measured((9.0, 9.0, 1.0, 1.0), answer=right, details={"peak_bytes": 5_000_000}), right),
        "Other": Result(replace(TASK, peer="Other"), Measurement(error="it is `refused`\nhere"), None),
    }
    targets = (Target("over Other", rate_ratio("Braid", "Other"), at_least=2),)
    benchmark = Benchmark("made-up", "A made up join", {"Braid": TASK, "Other": TASK}, targets)
    machine = {"cores": 2, "processor": "one", "memory_gib": 3}
    names = ("python", "pyspark", "pyarrow", "numpy", "duckdb", "polars", "commit")
    run = {"date": "2026-01-01T00:00:00", "machine": machine, "versions": dict.fromkeys(names, "1")}
    path = tmp_path / "made-up.json"
    write_record(path, benchmark, "quick", run, results)
    document = read_record(path)
    assert document["rows"][0] == Row.of("Braid", results["Braid"])
    draw(document, tmp_path / "pictures")
    assert {file.suffix for file in (tmp_path / "pictures").iterdir()} == {".svg", ".png"}
    write_page(tmp_path / "page.md", [document], Path("pictures"))
    page = (tmp_path / "page.md").read_text()
    assert "| made-up | over Other | not measured | ≥ 2 |  |" in page
    assert "| Braid | 100 | 1.00 s | 1.00 s |" in page
    assert "Other gave no rate: `it is 'refused' here`" in page


def test_an_answer_by_cells_is_the_plain_one(tmp_path: Path) -> None:
    made = synthetic.nested_loop(rows_per_second=60, batches=4, matches_per_row=3)
    for _ in made.write(tmp_path):
        pass
    quick, plain = (expected_answer(one, tmp_path, 4, 2) for one in (made, replace(made, cells=None)))
    assert quick == plain
    assert plain.rows > 100
