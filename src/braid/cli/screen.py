"""The demo's output: a line per step, a progress bar below, and the table of encounters."""

from __future__ import annotations

import time
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

COLUMNS = (
    ("step", 6),
    ("rows in", 9),
    ("results", 9),
    ("rows/s", 9),
    ("state rows", 11),
    ("state", 9),
    ("watermark", 11),
)
# People begin to wonder after this long.
LONG_SECONDS = 1.0
RATES = (
    "There are two rates. That of a step: its rows divided by the time that the step took. That of the run: all rows "
    "divided by the time from the start of the first step to the end of the last, with the starting of workers and "
    "Spark's own work between steps."
)


class Totals:
    """The sums over the steps of a run."""

    def __init__(self, planned_rows: int) -> None:
        self.planned_rows = planned_rows
        self.rows = 0
        self.results = 0
        self.late = 0
        self.steps = 0
        self.long_step = ""
        self.share_of_step: float | None = None
        self._began = self._newest = time.monotonic()

    def add(self, progress: dict[str, Any]) -> None:
        self.rows += progress["numInputRows"]
        self.results += progress["numOutputRows"]
        self.late += sum(progress["lateRows"].values())
        self.steps += 1
        self._newest = time.monotonic()
        if self.steps == 1:
            self._began = self._newest - progress["durationMs"]["trigger"] / 1000

    def watch(self, status: dict[str, Any]) -> None:
        """Take note of a job that has been running for more than a second."""
        running = status["running"]
        is_long = running is not None and running["seconds"] > LONG_SECONDS
        self.long_step = status["message"] if is_long else ""
        self.share_of_step = running["share"] if is_long else None

    @property
    def seconds(self) -> float:
        """From the start of the first step to the end of the newest."""
        return self._newest - self._began

    @property
    def rows_per_second(self) -> float:
        return self.rows / max(self.seconds, 1e-9)


def step_header() -> str:
    return "".join(f"{name:>{width}}" for name, width in COLUMNS)


def step_line(progress: dict[str, Any]) -> str:
    """A step as a line below the header."""
    return "".join(f"{cell:>{width}}" for cell, (_, width) in zip(_cells(progress), COLUMNS, strict=True))


class LiveView:
    """The progress of the run, and of a step that takes long, as it is whenever the screen is refreshed."""

    def __init__(self, totals: Totals) -> None:
        self._totals = totals

    def __rich__(self) -> RenderableType:
        totals = self._totals
        far = Table.grid(padding=(0, 2))
        far.add_row(
            ProgressBar(total=totals.planned_rows, completed=min(totals.rows, totals.planned_rows), width=24),
            Text(f"{totals.rows:,} rows, {totals.results:,} results, {totals.rows_per_second:,.0f} rows/s"),
        )
        if not totals.long_step:
            return far
        long_step = Table.grid(padding=(0, 2))
        share = totals.share_of_step
        bar = [] if share is None else [ProgressBar(total=1.0, completed=share, width=24)]
        long_step.add_row(*bar, Text(totals.long_step, style="dim"))
        return Group(far, long_step)


def encounters_table(pairs: Any) -> Table:
    """The closest encounters, one a line; `pairs` is a pandas DataFrame."""
    table = Table(title="Closest encounters", title_justify="left", box=None, padding=(0, 2), header_style="bold")
    for name in ("taxi", "van", "metres", "at", "x km", "y km", "reports"):
        table.add_column(name, justify="left" if name in ("taxi", "van") else "right", no_wrap=True)
    for pair in pairs.itertuples():
        table.add_row(
            pair.taxi,
            pair.van,
            f"{pair.metres:.1f}",
            f"{pair.time:%H:%M:%S}",
            f"{pair.x / 1000:.2f}",
            f"{pair.y / 1000:.2f}",
            f"{pair.reports:,}",
        )
    return table


def size_text(count: int) -> str:
    """Bytes as readable text."""
    if count < 1000:
        return f"{count} B"
    for unit in ("kB", "MB"):
        count_in_unit = count / (1000 if unit == "kB" else 1_000_000)
        if count_in_unit < 1000:
            return f"{count_in_unit:.1f} {unit}"
    return f"{count / 1e9:.1f} GB"


def _cells(progress: dict[str, Any]) -> tuple[str, ...]:
    marks = [mark for mark in progress["watermarks"].values() if mark is not None]
    return (
        f"{progress['batchId']:,}",
        f"{progress['numInputRows']:,}",
        f"{progress['numOutputRows']:,}",
        f"{progress['processedRowsPerSecond']:,.0f}",
        f"{progress['stateRows']:,}",
        size_text(progress["stateBytes"]),
        min(marks)[11:19] if marks else "-",
    )
