"""A benchmark's outcome as JSON, and read back: everything that tables, pictures and the page are made of.

A record has measurements alone. What follows from them, figures and verdicts, is computed when it is read, so nothing
can be said that the measurements do not say.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark
from benchmarks.campaign import Result
from benchmarks.pacing import sustained_rows_a_batch
from benchmarks.searching import Tried, next_rate, tried_of
from benchmarks.targets import Verdict

WITHOUT_BATCHES = {"Flink": "none", "Pathway": "own commits"}  # what takes no batches of ours


@dataclass(frozen=True)
class Row:
    """One task's figures, of the round with the median rate. What a system did not give is None."""

    label: str
    peer: str
    batch: str  # its rows, or how input is taken otherwise
    rows_per_second: float | None
    rates: tuple[float, ...]  # of all rounds, sorted
    step_p50: float | None
    step_p99: float | None
    latency_p50: float | None
    latency_p99: float | None
    peak_bytes: int | None
    state_bytes_a_row: float | None
    written_bytes_a_row: float | None
    results: int | None
    agrees: bool
    error: str | None

    @property
    def name(self) -> str:
        """The label, with the system where it does not say it."""
        known = self.label.startswith(self.peer.partition(" ")[0])
        return self.label if known or self.label[:1].isdigit() else f"{self.peer}, {self.label}"

    @staticmethod
    def of(label: str, results: Sequence[Result]) -> Row:
        """The figures of a task over its rounds; how late results are is measured in the first."""
        result = _median(results)
        task, measured = result.task, result.measurement
        details = measured.details
        latency = results[0].measurement.details.get("latency", {})
        return Row(
            label=label,
            peer=task.peer,
            batch=_batch(result),
            rows_per_second=measured.rows_per_second(task),
            rates=tuple(sorted(one.rate for one in results if one.rate is not None)),
            step_p50=measured.step_seconds(task, 0.5),
            step_p99=measured.step_seconds(task, 0.99),
            latency_p50=latency.get("p50"),
            latency_p99=latency.get("p99"),
            peak_bytes=details.get("peak_bytes"),
            state_bytes_a_row=_ratio(details.get("state_bytes"), details.get("state_rows")),
            written_bytes_a_row=_ratio(details.get("written_bytes"), sum(measured.rows)),
            results=None if measured.answer is None else measured.answer.rows,
            agrees=all(one.agrees for one in results),
            error=measured.error or latency.get("error") or _unfinished(result),
        )


@dataclass(frozen=True)
class Document:
    """A record, with the benchmark that it is of."""

    benchmark: Benchmark
    content: dict[str, Any]
    rounds: tuple[Mapping[str, Result], ...]

    @property
    def name(self) -> str:
        return self.benchmark.name

    @property
    def title(self) -> str:
        return str(self.content["title"])

    @property
    def axis(self) -> str | None:
        axis: str | None = self.content["axis"]
        return axis

    @property
    def results(self) -> dict[str, list[Result]]:
        """The results of each label, round by round."""
        return {label: [one[label] for one in self.rounds if label in one] for label in self.rounds[0]}

    @property
    def rows(self) -> list[Row]:
        return [Row.of(label, results) for label, results in self.results.items()]

    @property
    def verdicts(self) -> list[Verdict]:
        return [target.check(self.rounds) for target in self.benchmark.targets]

    @property
    def searches(self) -> dict[str, list[Tried]]:
        """The rates that each label was offered; nothing where none was searched for."""
        found = {label: tried_of(results[0].measurement.details) for label, results in self.results.items()}
        return {label: tried for label, tried in found.items() if tried}

    @property
    def unfinished(self) -> dict[str, float]:
        """Searches that were stopped, with the rate that they would have offered next."""
        found = {}
        for label, tried in self.searches.items():
            first = self.results[label][0].task.rows_per_second
            following = None if first is None or tried[-1].error is not None else next_rate(tried, first)
            if following is not None:
                found[label] = following
        return found

    @property
    def missing(self) -> list[str]:
        """What the benchmark asks for and the record does not have."""
        return [label for label in self.benchmark.tasks if label not in self.rounds[0]]

    @property
    def agrees(self) -> bool:
        return all(result.agrees for one in self.rounds for result in one.values())

    @property
    def measured(self) -> list[dict[str, str]]:
        """When each result was measured, and which code; a record that does not say it has one for all."""
        versions = self.content["versions"]
        whole = {"date": self.content["date"], "commit": versions["commit"], "source": versions["source"]}
        return [{**whole, **result.measured} for one in self.rounds for result in one.values()]

    def row(self, label: str) -> Row:
        return Row.of(label, self.results[label])


def write_record(
    path: Path, benchmark: Benchmark, size: str, run: dict[str, Any], rounds: Sequence[Mapping[str, Result]]
) -> None:
    """The description of a run with its results, round by round."""
    document = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "axis": benchmark.axis,
        "size": size,
        **run,
        "rounds": [{label: result.record() for label, result in one.items()} for one in rounds],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def read_record(path: Path, benchmark: Benchmark) -> Document:
    """A record; one of a single round may have it as `measurements`."""
    content: dict[str, Any] = json.loads(path.read_text())
    rounds = content["rounds"] if "rounds" in content else [content["measurements"]]
    read = tuple({label: Result.from_json(one) for label, one in results.items()} for results in rounds)
    return Document(benchmark, content, read)


def _median(results: Sequence[Result]) -> Result:
    rated = sorted((one for one in results if one.rate is not None), key=lambda one: one.rate or 0.0)
    return rated[(len(rated) - 1) // 2] if rated else results[0]


def _batch(result: Result) -> str:
    """Rows of a batch in the steady part, or what stands for batches."""
    task, measured = result.task, result.measurement
    if task.peer in WITHOUT_BATCHES:
        return WITHOUT_BATCHES[task.peer]
    if task.mode == "search":
        return "what has come"
    if measured.details.get("at_once"):
        return "all at once"
    rows = measured.steady(task)[1] or measured.rows
    return f"{statistics.median(rows) if rows else sustained_rows_a_batch(task):,.0f}"


def _unfinished(result: Result) -> str | None:
    measured, task = result.measurement, result.task
    if measured.answer is None or measured.rows_per_second(task) is not None:
        return None
    return f"{len(measured.seconds)} batches ended in {task.limit_seconds:g} s"


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None
