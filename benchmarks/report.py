"""What was measured, for people and for programs: rates, ratios against targets, the machine, a table, JSON."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.answers import Answer
from benchmarks.peers import ONE_SHOT, Measurement, Task

PACKAGES = ("braid-spark", "pyspark", "pyarrow", "numpy", "pandas", "duckdb")


@dataclass(frozen=True)
class Row:
    """One line of the table: a task, what it measured, and what it should have returned."""

    system: str
    task: Task
    measurement: Measurement
    expected: Answer

    @property
    def one_shot(self) -> bool:
        return self.task.peer in ONE_SHOT

    @property
    def steady_seconds(self) -> tuple[float, ...]:
        """The batches after the warm-up, or the best repeat of a system that takes everything at once."""
        seconds = self.measurement.seconds
        return (min(seconds),) if self.one_shot else seconds[self.task.warm_up :]

    @property
    def steady_rows(self) -> int:
        batches = self.task.batches if self.one_shot else len(self.steady_seconds)
        return batches * self.task.workload.rows_per_batch

    @property
    def rows_per_second(self) -> float:
        return self.steady_rows / sum(self.steady_seconds) if self.steady_seconds else 0.0

    @property
    def agrees(self) -> bool:
        return self.measurement.answer == self.expected

    @property
    def steady_part(self) -> str:
        if self.one_shot:
            return f"best of {len(self.measurement.seconds)}"
        return f"last {len(self.steady_seconds)} of {len(self.measurement.seconds)}"

    def record(self) -> dict[str, Any]:
        """The row as JSON takes it."""
        return {
            "system": self.system,
            "workload": asdict(self.task.workload) | {"keys": self.task.workload.keys},
            "batches": len(self.measurement.seconds) if not self.one_shot else self.task.batches,
            "rows_per_batch": self.task.workload.rows_per_batch,
            "steady_part": self.steady_part,
            "rows_per_second": round(self.rows_per_second),
            "median_seconds": round(statistics.median(self.steady_seconds), 4) if self.steady_seconds else None,
            "seconds": [round(one, 4) for one in self.measurement.seconds],
            "result_rows": self.measurement.answer.rows,
            "result_batches": self.measurement.answer_batches,
            "expected_rows": self.expected.rows,
            "agrees": self.agrees,
            "settings": self.measurement.settings,
            "details": self.measurement.details,
        }


@dataclass(frozen=True)
class Target:
    """A ratio of two rates, and what Braid is to reach; None where it is told for comparison only."""

    description: str
    ratio: float
    at_least: float | None

    @property
    def met(self) -> bool | None:
        return None if self.at_least is None else self.ratio >= self.at_least

    @property
    def verdict(self) -> str:
        if self.at_least is None:
            return "for comparison"
        return f"target {self.at_least}, {'[green]met[/]' if self.met else '[red]missed[/]'}"

    def record(self) -> dict[str, Any]:
        return asdict(self) | {"ratio": round(self.ratio, 3), "met": self.met}


def print_report(console: Console, rows: list[Row], targets: list[Target]) -> None:
    """The table, then a line for each target."""
    table = Table("batches", "system", "counted", title="Equality join, window ±10 s")
    for heading in ("rows/s", "s/batch", "results", "answer"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        median = statistics.median(row.steady_seconds) if row.steady_seconds else float("nan")
        table.add_row(
            row.task.workload.name,
            row.system,
            row.steady_part,
            f"{row.rows_per_second:,.0f}",
            "at once" if row.one_shot else f"{median:.2f}",
            f"{row.measurement.answer.rows:,}",
            _verdict(row),
        )
    console.print(table)
    for target in targets:
        console.print(f"{target.description}: {target.ratio:.2f} ({target.verdict})")


def _verdict(row: Row) -> str:
    if row.agrees:
        return "[green]right[/]"
    same_count = row.measurement.answer.rows == row.expected.rows
    return "[red]other rows[/]" if same_count else f"[red]not {row.expected.rows:,}[/]"


def describe_run(name: str, options: dict[str, Any]) -> dict[str, Any]:
    """What runs, when, where and on what; taken before the run, so that the load is that of others."""
    return {
        "benchmark": name,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "options": options,
        "machine": _machine(),
        "versions": _versions(),
    }


def write_json(path: Path, run: dict[str, Any], rows: list[Row], targets: list[Target]) -> None:
    """The description of a run with its results."""
    document = run | {
        "answers_agree": all(row.agrees for row in rows),
        "targets": [target.record() for target in targets],
        "measurements": [row.record() for row in rows],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=2) + "\n")


def _machine() -> dict[str, Any]:
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(pages / 2**30, 1),
        "system": platform.platform(),
        "load_average": [round(load, 2) for load in os.getloadavg()],
    }


def _versions() -> dict[str, str]:
    found = {package: version(package) for package in PACKAGES}
    found["python"] = platform.python_version()
    found["java"] = next(iter(_said(["java", "-version"]).splitlines()), "unknown")
    found["commit"] = _said(["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]) or "unknown"
    return found


def _processor() -> str:
    described = Path("/proc/cpuinfo")
    lines = described.read_text().splitlines() if described.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()


def _said(command: list[str]) -> str:
    """What a command prints, on either output; nothing if it fails or is not there."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return (done.stdout or done.stderr).strip()
