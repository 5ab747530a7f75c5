"""The suite's own logic: what counts as steady, resuming, verdicts, lateness, records and the page made of them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from benchmarks import campaign as campaigns
from benchmarks.answers import Answer, expected_answer
from benchmarks.benchmark import Benchmark
from benchmarks.campaign import Campaign, Result
from benchmarks.pacing import _quantile, _taken, paced_task, sustained_rows_a_batch
from benchmarks.report.page import write_page
from benchmarks.report.plots import draw
from benchmarks.report.record import Row, read_record, write_record
from benchmarks.report.table import number
from benchmarks.strategies import strategy_of
from benchmarks.suite import BENCHMARKS, FULL, QUICK
from benchmarks.targets import Target, rate_ratio, step_ratio
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads import synthetic
from benchmarks.workloads.workload import row_counts

SMALL = {"rows_per_second": 50, "batches": 4}
TASK = Task("Braid", "equality", SMALL, 4, warm_up=2)


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


@pytest.mark.parametrize("text", ["Biclique(units=(4, 4), groups=2)", "Matrix(rows=4, columns=4)", "Auto()"])
def test_a_strategy_is_read_from_what_it_says_of_itself(text: str) -> None:
    assert strategy_of(text).describe() == text


def test_a_text_that_is_no_strategy_is_refused() -> None:
    with pytest.raises(ValueError, match="there are Partitioned, Biclique, Matrix, Auto"):
        strategy_of("print('here')")
    with pytest.raises(ValueError, match="malformed"):
        strategy_of("Matrix(rows=open('here'))")


class Systems:
    """Instead of processes: every task gives a right answer, but one that is told to fail once."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fail_on: str | None = None

    def run(self, task: Task, data: Path, scratch: Path, tell: Any) -> Measurement:
        self.ran.append(task.peer)
        if task.peer == self.fail_on:
            self.fail_on = None
            raise KeyboardInterrupt
        rows = row_counts(data, task.workload.stream_names, task.batches)
        answer = expected_answer(task.workload, data, task.batches, 1)
        return Measurement((1.0,) * task.batches, tuple(rows), answer, task.batches)


@pytest.fixture
def systems(monkeypatch: pytest.MonkeyPatch) -> Systems:
    found = Systems()
    monkeypatch.setattr(campaigns, "run_isolated", found.run)
    return found


def test_an_interrupted_campaign_goes_on_after_the_last_finished_task(systems: Systems, tmp_path: Path) -> None:
    tasks = [replace(TASK, peer=peer) for peer in ("a", "b", "c")]
    systems.fail_on = "b"
    with pytest.raises(KeyboardInterrupt):
        Campaign(tmp_path, Console(quiet=True)).run(tasks)
    results = Campaign(tmp_path, Console(quiet=True)).run(tasks)
    assert systems.ran == ["a", "b", "b", "c"]
    assert [result.task.peer for result in results] == ["a", "b", "c"]
    assert all(result.agrees and result.rate for result in results)
    assert not list((tmp_path / "data").iterdir())


def test_what_other_code_measured_is_measured_anew(
    systems: Systems, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Campaign(tmp_path, Console(quiet=True)).run([TASK])
    monkeypatch.setattr(campaigns, "code_hash", lambda: "other")
    Campaign(tmp_path, Console(quiet=True)).run([TASK])
    assert systems.ran == ["Braid", "Braid"]


def test_other_options_are_another_task() -> None:
    assert replace(TASK, options={**SMALL, "skew": 1.0}).key != TASK.key
    assert replace(TASK, peer="Spark").data_key == TASK.data_key


def test_full_sizes_have_a_paced_run_beside_spark_on_its_ground() -> None:
    tasks = BENCHMARKS["equality"]("full").with_latency().tasks
    paced = {task.peer for task in tasks.values() if task.latency}
    assert paced == {"Braid", "Spark"}
    assert not any(task.latency for task in BENCHMARKS["window"]("full").with_latency().tasks.values())


def test_lateness_counts_rows_not_files() -> None:
    late = [(0.1, 98), (0.2, 1), (5.0, 1)]
    assert _quantile(late, 0.5) == 0.1
    assert _quantile(late, 0.99) == 0.2


def test_a_paced_task_runs_at_half_of_the_rate_in_smaller_files() -> None:
    paced = paced_task(TASK, 200.0)
    assert (paced.mode, paced.rows_per_second, paced.latency) == ("paced", 100.0, False)
    assert paced.workload.seconds_per_batch == TASK.workload.seconds_per_batch / 5
    assert paced.rows_per_second is not None
    seconds_a_file = sustained_rows_a_batch(paced) / paced.rows_per_second
    assert paced.warm_up * seconds_a_file >= 12  # the start's backlog does not count


def test_a_paced_task_fills_its_window_before_it_counts() -> None:
    paced = paced_task(replace(TASK, warm_up=40), 200_000.0)
    window = TASK.workload.window_seconds
    assert window is not None
    assert paced.warm_up * paced.workload.seconds_per_batch >= window


def test_a_file_is_taken_when_the_batch_with_its_last_part_is_committed(tmp_path: Path) -> None:
    def write(path: str, *lines: str) -> Path:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("\n".join(lines))
        return tmp_path / path

    def entry(file: str, number: int) -> str:
        return json.dumps({"path": f"file:///in/{file}.parquet", "timestamp": 1, "batchId": number})

    write("sources/0/0", "v1", entry("00000", 0))
    write("sources/0/1", "v1", entry("00001", 1))
    write("sources/1/0.compact", "v1", entry("00000", 0), entry("00001", 0))
    write("offsets/0", "v1", "{}", '{"logOffset":0}', "-")
    write("offsets/1", "v1", "{}", '{"logOffset":0}', '{"logOffset":0}')
    write("offsets/2", "v1", "{}", '{"logOffset":1}', '{"logOffset":0}')
    write("commits/0", "v1")
    assert _taken(TASK, tmp_path) == {}
    second = write("commits/1", "v1").stat().st_mtime
    assert _taken(TASK, tmp_path) == {0: second}
    third = write("commits/2", "v1").stat().st_mtime
    assert _taken(TASK, tmp_path) == {0: second, 1: third}


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
