"""What the demo displays."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from braid.cli.screen import COLUMNS, LiveView, Totals, size_text, step_header, step_line


def test_totals_add_up() -> None:
    totals = Totals(planned_rows=100)
    step = {
        "batchId": 0,
        "numInputRows": 40,
        "numOutputRows": 3,
        "lateRows": {"a": 1, "b": 0},
        "watermarks": {"a": None, "b": "2026-01-01T08:00:05.000Z"},
        "processedRowsPerSecond": 80.0,
        "stateRows": 40,
        "stateBytes": 2048,
        "durationMs": {"trigger": 500},
    }
    totals.add(step)
    totals.add({**step, "batchId": 1})
    assert (totals.rows, totals.results, totals.late, totals.steps) == (80, 6, 2, 2)
    assert totals.seconds >= 0.5
    console = Console(file=StringIO(), width=120)
    console.print(LiveView(totals))
    totals.watch({"running": {"seconds": 0.4, "share": None}, "message": "running step 3 (probe)"})
    console.print(LiveView(totals))
    assert "running step 3" not in console.file.getvalue()
    totals.watch({"running": {"seconds": 1.4, "share": None}, "message": "running step 3 (probe)"})
    console.print(LiveView(totals))
    assert console.file.getvalue().endswith("\nrunning step 3 (probe)\n")
    totals.watch({"running": {"seconds": 2.4, "share": 0.5}, "message": "running step 3 (probe)"})
    console.print(LiveView(totals))
    bar, text = console.file.getvalue().splitlines()[-1].split("  ", 1)
    assert len(bar) == 24 // 2
    assert text.strip() == "running step 3 (probe)"


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 B"), (1500, "1.5 kB"), (2_500_000, "2.5 MB"), (3_200_000_000, "3.2 GB")]
)
def test_sizes_read_well(count: int, text: str) -> None:
    assert size_text(count) == text


def test_a_step_is_a_line_below_the_header() -> None:
    progress = {
        "batchId": 7,
        "numInputRows": 20_000,
        "numOutputRows": 1_234,
        "processedRowsPerSecond": 45_678.9,
        "stateRows": 31_000,
        "stateBytes": 2_500_000,
        "watermarks": {"taxi": "2026-01-01T08:00:05.000Z", "van": "2026-01-01T08:00:04.000Z"},
    }
    assert step_line(progress).split() == ["7", "20,000", "1,234", "45,679", "31,000", "2.5", "MB", "08:00:04"]
    assert len(step_line(progress)) == len(step_header()) == sum(width for _, width in COLUMNS)
