"""A benchmark's outcome on the terminal."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.report.record import Row

TIMES = ("step p50", "step p99", "late p50", "late p99")
HEADINGS = ("rows/s", *TIMES, "peak MB", "state B/row", "written B/row", "results", "answer")


def print_record(console: Console, document: dict[str, Any]) -> None:
    """The table of the figures there are, then a line for each target."""
    texts = [cells(row) for row in document["rows"]]
    filled = [number for number in range(len(HEADINGS)) if any(line[number] for line in texts)]
    table = Table(title=document["title"], title_justify="left")
    table.add_column("", no_wrap=True)
    for number in filled:
        table.add_column(HEADINGS[number], justify="right", no_wrap=True)
    for row, line in zip(document["rows"], texts, strict=True):
        table.add_row(row.label, *(line[number] for number in filled))
    console.print(table)
    for row in document["rows"]:
        if row.error:
            console.print(f"{row.label}: {row.error}", markup=False, style="yellow")
    for target in document["targets"]:
        style = {True: "green", False: "red", None: ""}[target["met"]]
        console.print(f"{target['description']}: {target_text(target)}", style=style)


def cells(row: Row) -> list[str]:
    """A row's figures as text; nothing where there is none."""
    return [
        _whole(row.rows_per_second),
        _seconds(row.step_p50),
        _seconds(row.step_p99),
        _seconds(row.latency_p50),
        _seconds(row.latency_p99),
        "" if row.peak_bytes is None else f"{row.peak_bytes / 1e6:,.0f}",
        _short(row.state_bytes_a_row),
        _short(row.written_bytes_a_row),
        _whole(row.results),
        "" if row.results is None else "right" if row.agrees else "WRONG",
    ]


def target_text(target: dict[str, Any]) -> str:
    if target["value"] is None:
        return f"not measured ({target['bound']})"
    verdict = {True: ", met", False: ", missed", None: ""}[target["met"]]
    return f"{number(target['value'])}" + (f" ({target['bound']}{verdict})" if target["bound"] else "")


def number(value: float) -> str:
    """Two places, and no sign before a zero."""
    return f"{value:.2e}" if abs(value) >= 1e6 else f"{round(value, 2) + 0.0:,.2f}"


def _whole(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} s"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"
