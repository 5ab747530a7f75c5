"""A benchmark's outcome as JSON, and read back: everything that tables, plots and the page are made of."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.benchmark import Benchmark
from benchmarks.campaign import Result


@dataclass(frozen=True)
class Row:
    """One task's figures. What a system did not give is None."""

    label: str
    peer: str
    rows_per_second: float | None
    step_p50: float | None
    step_p99: float | None
    latency_p50: float | None
    latency_p99: float | None
    peak_bytes: int | None
    state_bytes_a_row: float | None
    written_bytes_a_row: float | None
    results: int | None
    agrees: bool
    counted: str
    error: str | None

    @staticmethod
    def of(label: str, result: Result) -> Row:
        task, measured = result.task, result.measurement
        details = measured.details
        latency = details.get("latency", {})
        rows = sum(measured.rows)
        return Row(
            label=label,
            peer=task.peer,
            rows_per_second=_rounded(measured.rows_per_second(task)),
            step_p50=_rounded(measured.step_seconds(task, 0.5)),
            step_p99=_rounded(measured.step_seconds(task, 0.99)),
            latency_p50=latency.get("p50"),
            latency_p99=latency.get("p99"),
            peak_bytes=details.get("peak_bytes"),
            state_bytes_a_row=_rounded(_ratio(details.get("state_bytes"), details.get("state_rows"))),
            written_bytes_a_row=_rounded(_ratio(details.get("written_bytes"), rows)),
            results=None if measured.answer is None else measured.answer.rows,
            agrees=result.agrees,
            counted=_counted(result),
            error=measured.error or latency.get("error"),
        )


def write_record(path: Path, benchmark: Benchmark, size: str, run: dict[str, Any], results: dict[str, Result]) -> None:
    """The description of a run with its results."""
    document = {
        "benchmark": benchmark.name,
        "title": benchmark.title,
        "axis": benchmark.axis,
        "size": size,
        **run,
        "answers_agree": all(result.agrees for result in results.values()),
        "targets": [target.check(results).record() for target in benchmark.targets],
        "rows": [vars(Row.of(label, result)) for label, result in results.items()],
        "measurements": {label: result.record() for label, result in results.items()},
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")


def read_record(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text())
    document["rows"] = [Row(**row) for row in document["rows"]]
    return document


def _counted(result: Result) -> str:
    measured = result.measurement
    if measured.details.get("at_once"):
        return f"best of {len(measured.seconds)}"
    if not measured.seconds:
        return ""
    return f"last {len(measured.steady(result.task)[0])} of {len(measured.seconds)}"


def _ratio(one: float | None, other: float | None) -> float | None:
    return one / other if one is not None and other else None


def _rounded(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
