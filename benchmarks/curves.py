"""Growth curves: how Braid's figures move with one quantity, everything else as it was."""

from __future__ import annotations

from benchmarks.benchmark import Benchmark, Size
from benchmarks.targets import Figure, Results, Target, step_ratio
from benchmarks.tasks import Task

WINDOWS = (1, 2, 4, 8, 16, 32)
BATCH_ROWS = (1_000, 10_000, 100_000, 1_000_000)
UNITS = (1, 2, 4, 8, 16, 32)
RESULTS_A_ROW = (0.1, 1.0, 10.0, 100.0)


def window(size: Size) -> Benchmark:
    """Window 1 s to 32 s at the same number of results a row."""
    factors = WINDOWS if size == "full" else (WINDOWS[0], WINDOWS[-1])
    tasks = {}
    for factor in factors:
        batches = factor + (30 if size == "full" else 20)
        tasks[str(factor)] = Task(
            "Braid", "equality", {"window_seconds": factor, "batches": batches}, batches, warm_up=factor + 4
        )
    return Benchmark(
        "window",
        "Step time by window, 2 × 50,000 rows a batch of 1 s, 5 results a row",
        tasks,
        (Target("step with a window 32 times as long", step_ratio("32", "1"), at_most=1.6),),
        axis="window, seconds",
        curve="step",
    )


def streams(size: Size) -> Benchmark:
    """Two to five streams with a common key."""
    batches = 24 if size == "full" else 16
    tasks = {
        str(number): Task("Braid", "many", {"streams": number, "batches": batches}, batches, warm_up=12)
        for number in (2, 3, 4, 5)
    }
    return Benchmark("streams", "Rate by streams, a common key, 10,000 rows a second each", tasks, axis="streams")


def units(size: Size) -> Benchmark:
    """One to 32 units a side on two slots."""
    batches = 12 if size == "full" else 8
    tasks = {
        str(units): Task(
            "Braid",
            "band",
            {"rows_per_second": 10_000, "seconds_per_batch": 5, "batches": batches},
            batches,
            warm_up=4,
            strategy=f"Biclique(units={units})",
        )
        for units in UNITS
    }
    return Benchmark("units", "Rate by units of each side, band join, two slots", tasks, axis="units of each side")


def results(size: Size) -> Benchmark:
    """From a tenth of a result a row to a hundred."""
    batches = 24 if size == "full" else 16
    tasks = {
        f"{each:g}": Task("Braid", "equality", {"matches_per_row": each, "batches": batches}, batches, warm_up=12)
        for each in RESULTS_A_ROW
    }
    return Benchmark(
        "results",
        "Rate by results a row, batches of 100 K",
        tasks,
        (Target("peak memory with 100 results a row over 1", _peak_ratio("100", "1"), at_most=1.5, of="sizes"),),
        axis="results a row",
    )


def batch(size: Size) -> Benchmark:
    """Batches of 1 K to 1 M rows, each a second of event time."""
    tasks = {}
    for rows in BATCH_ROWS:
        batches = 16 if rows == BATCH_ROWS[-1] else 40 if size == "full" else 24
        tasks[str(rows)] = Task(
            "Braid", "equality", {"rows_per_second": rows // 2, "batches": batches}, batches, warm_up=12
        )
    return Benchmark("batch", "Rate by rows in a batch, window ±10 s", tasks, axis="rows in a batch")


def length(size: Size) -> Benchmark:
    """Nothing may degrade over a long run: the last tenth of its steps beside an early one."""
    batches = 500 if size == "full" else 120
    options = {"rows_per_second": 10_000, "batches": batches}
    return Benchmark(
        "length",
        f"{batches} batches of 20,000 rows, window ±10 s",
        {"Braid": Task("Braid", "equality", options, batches, warm_up=30, limit_seconds=900)},
        (Target("step of the last tenth over that of the first", _last_over_first("Braid"), at_most=1.2),),
    )


def _peak_ratio(one: str, other: str) -> Figure:
    def figure(results: Results) -> float | None:
        peaks = [results[label].measurement.details.get("peak_bytes") for label in (one, other)]
        return float(peaks[0] / peaks[1]) if peaks[0] and peaks[1] else None

    return figure


def _last_over_first(label: str) -> Figure:
    def figure(results: Results) -> float | None:
        seconds = results[label].measurement.steady(results[label].task)[0]
        tenth = len(seconds) // 10
        if not tenth:
            return None
        return sorted(seconds[-tenth:])[tenth // 2] / sorted(seconds[:tenth])[tenth // 2]

    return figure
