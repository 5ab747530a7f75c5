"""A task small enough to be measured by hand."""

from __future__ import annotations

from benchmarks.tasks import Task

SMALL = {"rows_per_second": 50, "batches": 4}
TASK = Task("Braid", "equality", SMALL, 4, warm_up=2)
