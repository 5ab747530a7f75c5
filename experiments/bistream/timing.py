"""What is timed on Spark: a query of the paper under one of its settings, as fast as it goes or on schedule."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.tasks import Measurement, Task
from experiments.bistream.models import model
from experiments.bistream.size import Size

BANDS_HAVE_NO_KEY = "A band has no key to cut subgroups by, so it runs without CR4 and CR8."


def sustained_task(size: Size, query: str, setting: str, scale: float | None = None) -> Task:
    """Batch after batch, as fast as they are taken."""
    options = {"scale_factor": scale or size.timed_scale, "batches": size.timed_batches}
    strategy = model(setting).describe()
    return Task("Braid", f"tpch-{query}", options, size.timed_batches, size.timed_warm_up, strategy=strategy)


def paced_task(size: Size, query: str, setting: str) -> Task:
    """The same rows in smaller files, so many a second."""
    task = sustained_task(size, query, setting)
    options = {**task.options, "batches": size.files_in_all}
    rows = sum(feed.second(0).num_rows for feed in replace(task, options=options).workload.feeds)
    return replace(
        task,
        options=options,
        batches=size.paced_files,
        warm_up=size.paced_warm_up,
        mode="paced",
        rows_per_second=float(rows * size.files_per_second),
    )


def rate_of(size: Size, measurement: Measurement) -> float:
    """Rows a second after the warm-up."""
    seconds, rows = measurement.seconds[size.timed_warm_up :], measurement.rows[size.timed_warm_up :]
    return sum(rows) / sum(seconds)


def lateness_of(measurement: Measurement) -> dict[str, float]:
    """How late the results of a paced run were; it must have kept up."""
    found: dict[str, float] = measurement.details["latency"]
    if "error" in found:
        raise AssertionError(f"A paced run did not keep up: {found['error']}")
    return found
