"""Running tasks one after the other, and keeping each measurement as soon as it is there.

A campaign is a directory: generated data, what tasks leave behind, and a JSON file for each finished task. Started
again in the same directory it goes on where it stopped; what other code measured is measured anew.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.answers import Answer, expected_answer
from benchmarks.isolation import run_isolated
from benchmarks.machine import code_hash, commit, source
from benchmarks.pacing import offered_task, paced_task
from benchmarks.searching import BOUNDS, Tried, next_rate, tried_of
from benchmarks.tasks import Measurement, Task

COLUMNS = (TextColumn("{task.description:<44}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())


@dataclass(frozen=True)
class Result:
    """A finished task: what it measured, and what it should have returned."""

    task: Task
    measurement: Measurement
    expected: Answer | None
    measured: dict[str, str] = field(default_factory=dict)  # when, which code, under which load

    @property
    def agrees(self) -> bool:
        """Whether the answer is right; a system that gave none is not wrong."""
        if any(one.answer == "wrong" for one in tried_of(self.measurement.details)):
            return False
        return self.measurement.answer is None or self.measurement.answer == self.expected

    @property
    def rate(self) -> float | None:
        return self.measurement.rows_per_second(self.task)

    def record(self) -> dict[str, Any]:
        return {
            "task": asdict(self.task),
            "measurement": asdict(self.measurement),
            "expected": None if self.expected is None else asdict(self.expected),
            "measured": self.measured,
        }

    @staticmethod
    def from_json(content: dict[str, Any]) -> Result:
        expected = content["expected"]
        return Result(
            Task(**content["task"]),
            Measurement.from_json(content["measurement"]),
            None if expected is None else Answer(**expected),
            content.get("measured", {}),
        )


def tried_rate(result: Result) -> Tried:
    """What a run at an offered rate showed. One that is later than every bound may have been stopped too soon."""
    task, measurement = result.task, result.measurement
    assert task.rows_per_second is not None
    latency = measurement.details.get("latency", {})
    p99 = latency.get("p99")
    right = measurement.answer is not None and result.agrees
    late = measurement.answer is None or p99 is None or p99 > BOUNDS[-1]
    answer: Literal["right", "wrong", "incomplete"] = "right" if right else "incomplete" if late else "wrong"
    return Tried(task.rows_per_second, latency.get("p50"), p99, answer, measurement.error)


def measured_now(code: Mapping[str, str]) -> dict[str, str]:
    """Where a result comes from: when it was measured, which code, and how busy others kept the machine before."""
    date = datetime.now(UTC).isoformat(timespec="seconds")
    return {"date": date, **code, "load": f"{os.getloadavg()[0]:.1f}"}


class Campaign:
    """A directory to work in and a progress display for everything that takes time."""

    def __init__(self, directory: Path, console: Console) -> None:
        self.progress = Progress(*COLUMNS, console=console)
        self._directory = directory
        self._code = code_hash()
        self._measured = {"commit": commit(), "source": source()}

    def run_rounds(self, tasks: Mapping[str, Task], rounds: int) -> list[dict[str, Result]]:
        """All tasks, round after round. What gave no rate in the first is not asked again.

        How late results are is measured in the first round only.
        """
        found: list[dict[str, Result]] = []
        for number in range(rounds):
            asked = {
                label: replace(task, round=number, latency=task.latency and number == 0)
                for label, task in tasks.items()
                if number == 0 or found[0][label].rate is not None
            }
            found.append(dict(zip(asked, self.run(list(asked.values()), last=number == rounds - 1), strict=True)))
        return found

    def run(self, tasks: Sequence[Task], *, last: bool = True) -> list[Result]:
        """The results of all tasks, measured now or in an earlier start of the campaign; the last ones remove data."""
        results = []
        for number, task in enumerate(tasks):
            results.append(self._finished(task) or self._measure(task))
            later = {other.data_key for other in tasks[number + 1 :]}
            if last and task.data_key not in later:
                shutil.rmtree(self._data(task), ignore_errors=True)
        return results

    def _finished(self, task: Task) -> Result | None:
        path = self._path(task)
        content = json.loads(path.read_text()) if path.exists() else {}
        return Result.from_json(content) if content.get("code") == self._code else None

    def _measure(self, task: Task) -> Result:
        if task.mode == "search":
            return self._search(task)
        measured = measured_now(self._measured)
        data = self._data(task)
        self._generate(task, data)
        scratch = self._directory / "scratch" / task.key
        shutil.rmtree(scratch, ignore_errors=True)
        bar = self.progress.add_task(task.title[:44], total=None if task.repeats > 1 else task.batches)
        measurement = run_isolated(task, data, scratch, lambda _: self.progress.advance(bar))
        rate = measurement.rows_per_second(task)
        if task.latency and rate is not None:
            measurement = replace(measurement, details={**measurement.details, "latency": self._latency(task, rate)})
        expected = None
        if measurement.answer is not None:
            expected = expected_answer(task.workload, data, measurement.answer_batches, task.cores)
        result = Result(task, measurement, expected, measured)
        self._keep(result)
        shutil.rmtree(scratch, ignore_errors=True)
        return result

    def _search(self, task: Task) -> Result:
        """Offer one rate after the other; each run is kept, so that an interrupted search goes on."""
        assert task.rows_per_second is not None
        tried: list[Tried] = []
        results: list[Result] = []
        while (rate := next_rate(tried, task.rows_per_second)) is not None:
            offered = replace(offered_task(task, rate), round=sum(one.rate == rate for one in tried))
            results.append(self._finished(offered) or self._measure(offered))
            shutil.rmtree(self._data(offered), ignore_errors=True)
            tried.append(tried_rate(results[-1]))
            if results[-1].measurement.error is not None:
                break  # what could not run at one rate has nothing to say of others
        first, last = results[0], results[-1].measurement
        error = last.error if len(tried) == 1 else None
        details = {"tried": [asdict(one) for one in tried]}
        result = Result(task, Measurement(error=error, settings=last.settings, details=details), None, first.measured)
        self._keep(result)
        return result

    def _latency(self, task: Task, rate: float) -> dict[str, Any]:
        """How late results are at half of the rate; an answer that differs is an error here too."""
        paced = self._measure(paced_task(task, rate))
        shutil.rmtree(self._data(paced.task), ignore_errors=True)
        if paced.measurement.error is not None:
            return {"error": paced.measurement.error}
        latency: dict[str, Any] = paced.measurement.details["latency"]
        if "error" not in latency and not paced.agrees:
            raise AssertionError(f"{task.title}: the paced run gave another answer")
        return latency

    def _generate(self, task: Task, data: Path) -> None:
        if data.exists():
            return
        unfinished = data.with_suffix(".unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        workload = task.workload
        bar = self.progress.add_task(f"write {workload.name}", total=workload.batches)
        for _ in workload.write(unfinished):
            self.progress.advance(bar)
        unfinished.rename(data)

    def _keep(self, result: Result) -> None:
        path = self._path(result.task)
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({**result.record(), "code": self._code}, indent=2) + "\n")
        unfinished.rename(path)

    def _path(self, task: Task) -> Path:
        return self._directory / "measurements" / f"{task.key}.json"

    def _data(self, task: Task) -> Path:
        return self._directory / "data" / task.data_key
