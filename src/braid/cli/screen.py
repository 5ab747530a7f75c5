"""What the demo draws: the newest steps with a bar below them, and the table of encounters."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

SHOWN_STEPS = 6


class Totals:
    """What the steps of a run add up to."""

    def __init__(self, planned_rows: int) -> None:
        self.planned_rows = planned_rows
        self.rows = 0
        self.results = 0
        self.late = 0
        self.steps = 0
        self.recent: deque[dict[str, Any]] = deque(maxlen=SHOWN_STEPS)
        self._began = self._newest = time.monotonic()

    def add(self, progress: dict[str, Any]) -> None:
        self.rows += progress["numInputRows"]
        self.results += progress["numOutputRows"]
        self.late += sum(progress["lateRows"].values())
        self.steps += 1
        self.recent.append(progress)
        self._newest = time.monotonic()
        if self.steps == 1:
            self._began = self._newest - progress["durationMs"]["trigger"] / 1000

    @property
    def seconds(self) -> float:
        """From the start of the first step to the end of the newest."""
        return self._newest - self._began

    @property
    def rows_per_second(self) -> float:
        return self.rows / max(self.seconds, 1e-9)


def live_view(totals: Totals) -> RenderableType:
    """The newest steps, and how far the run is."""
    table = Table(box=None, padding=(0, 2), header_style="bold")
    for name in ("step", "rows in", "results", "rows/s", "state rows", "state", "watermark"):
        table.add_column(name, justify="right", no_wrap=True)
    for progress in totals.recent:
        table.add_row(*_cells(progress))
    far = Table.grid(padding=(0, 2))
    far.add_row(
        ProgressBar(total=totals.planned_rows, completed=min(totals.rows, totals.planned_rows), width=24),
        Text(f"{totals.rows:,} rows, {totals.results:,} results, {totals.rows_per_second:,.0f} rows/s"),
    )
    return Group(table, far)


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
    """Bytes for a person."""
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
