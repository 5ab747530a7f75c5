"""The benchmarks by name: which tasks each runs, and what it is to show.

Every benchmark has a quick size, to be run often, and a full one, for reports.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from benchmarks import comparisons, curves
from benchmarks.benchmark import LIMIT_SECONDS, Benchmark, Size
from benchmarks.comparisons import FLINK_CHECKPOINTS
from benchmarks.peers.flink import CHECKPOINTS
from benchmarks.targets import (
    Target,
    comparisons_per_core,
    detail_ratio,
    rate_ratio,
    step_difference,
    step_seconds,
)
from benchmarks.tasks import Task

SPARK = ("Spark", "Spark RocksDB", "Spark v4")


def equality(size: Size) -> Benchmark:
    """Spark's own ground: a common key. Small batches beside Spark, larger ones beside what takes no batches.

    Everybody's first half minute does not count: until then a JVM still compiles. Flink gets six batches, of which
    two fill its windows: with fewer, most of its rows would meet less than the join asks for.
    """
    full = size == "full"
    small: dict[str, Any] = {"batches": 120 if full else 100}
    medium: dict[str, Any] = {"seconds_per_batch": 5, "batches": 72 if full else 62}
    large: dict[str, Any] = {"seconds_per_batch": 10, "batches": 24 if full else 16}
    tasks = {"Braid, 100 K": Task("Braid", "equality", small, small["batches"], warm_up=70)}
    for peer in SPARK if full else ("Spark", "Spark v4"):
        tasks[f"{peer}, 100 K"] = Task(
            peer, "equality", small, 24 if full else 18, warm_up=14, limit_seconds=2 * LIMIT_SECONDS[size]
        )
    best_of = [label for label in tasks if label != "Braid, 100 K"]
    tasks["Braid, 500 K"] = Task("Braid", "equality", medium, medium["batches"], warm_up=48)
    limit = 2 * LIMIT_SECONDS[size]
    tasks["Flink"] = Task("Flink", "equality", medium, 6, repeats=2, limit_seconds=limit)  # its JVM is cold at first
    if full:
        tasks[FLINK_CHECKPOINTS] = replace(tasks["Flink"], settings=dict(CHECKPOINTS))
    tasks["Pathway"] = Task("Pathway", "equality", medium, 6 if full else 3, limit_seconds=limit)
    tasks["Braid, 1 M"] = Task("Braid", "equality", large, large["batches"], warm_up=14 if full else 10)
    for peer in ("DuckDB", "DuckDB tuned", "Polars"):
        tasks[peer] = Task(peer, "equality", large, 7, repeats=3)
    return Benchmark(
        "equality",
        "Equality, window ±10 s, 2 × 50,000 rows a second of event time",
        tasks,
        (
            Target("over Spark's best, batches of 100 K", rate_ratio("Braid, 100 K", *best_of), 8),
            Target("over Flink, batches of 500 K", rate_ratio("Braid, 500 K", "Flink"), 6),
            Target("over Pathway, batches of 500 K", rate_ratio("Braid, 500 K", "Pathway"), 6),
            Target("over DuckDB at once, batches of 1 M", rate_ratio("Braid, 1 M", "DuckDB"), 0.25),
            Target("over DuckDB tuned, batches of 1 M", rate_ratio("Braid, 1 M", "DuckDB tuned")),
            Target("over Polars at once, batches of 1 M", rate_ratio("Braid, 1 M", "Polars")),
            Target(
                "state over the Arrow size of the live columns, batches of 1 M",
                detail_ratio("Braid, 1 M", "state_bytes", "arrow_bytes"),
                at_most=1.3,
                of="sizes",
            ),
        ),
    )


def spine(size: Size) -> Benchmark:
    """The join that everything else is compared with: Braid, Spark's default store, DuckDB."""
    chosen = equality(size)
    labels = ("Braid, 100 K", "Spark, 100 K", "Braid, 1 M", "DuckDB", "DuckDB tuned")
    return Benchmark(
        "spine",
        chosen.title,
        {label: chosen.tasks[label] for label in labels},
        (
            Target("over Spark's default store, batches of 100 K", rate_ratio("Braid, 100 K", "Spark, 100 K"), 5),
            Target("over DuckDB at once, batches of 1 M", rate_ratio("Braid, 1 M", "DuckDB"), 0.2),
            Target("over DuckDB tuned, batches of 1 M", rate_ratio("Braid, 1 M", "DuckDB tuned")),
        ),
    )


def long_window(size: Size) -> Benchmark:
    """The same join, six times the state."""
    batches = 84 if size == "full" else 70
    options = {"window_seconds": 60, "batches": batches}
    tasks = {
        "Braid": Task("Braid", "equality", options, batches, warm_up=64),
        "Spark v4": Task("Spark v4", "equality", options, batches, warm_up=64, limit_seconds=240),
    }
    return Benchmark("long-window", "Equality, window ±60 s, batches of 100 K", tasks)


def skew(size: Size) -> Benchmark:
    """Keys by Zipf's law with as many results as even keys have."""
    batches = 80 if size == "full" else 44
    even: dict[str, Any] = {"batches": batches}
    exponents = {"even keys": 0.0, **({"Zipf 1.0": 1.0} if size == "full" else {}), "Zipf 1.5": 1.5}
    tasks = {
        label: Task("Braid", "equality", {**even, "skew": exponent}, batches, warm_up=batches // 2)
        for label, exponent in exponents.items()
    }
    targets = [Target("Zipf 1.5 over even keys", rate_ratio("Zipf 1.5", "even keys"), 0.5)]
    if size == "full":
        targets.insert(0, Target("Zipf 1.0 over even keys", rate_ratio("Zipf 1.0", "even keys")))
        tasks["Spark, Zipf 1.5"] = Task(
            "Spark", "equality", {**even, "skew": 1.5}, 24, warm_up=12, limit_seconds=LIMIT_SECONDS[size]
        )
    return Benchmark(
        "skew",
        "Equality, window ±10 s, skewed keys, equal number of results, batches of 100 K",
        tasks,
        tuple(targets),
    )


def band(size: Size) -> Benchmark:
    """A band join at three selectivities, in full."""
    results = (0.1, 1.0, 10.0) if size == "full" else (1.0,)
    return _by_results(size, "band", "Band join |r.x - s.x| <= d by results a row", results)


def theta(size: Size) -> Benchmark:
    """Inequalities on two attributes, no equality at all."""
    return _by_results(size, "theta", "Inequalities on two attributes", (1.0,))


def _by_results(size: Size, family: str, title: str, results: tuple[float, ...]) -> Benchmark:
    large: dict[str, Any] = {"seconds_per_batch": 100, "batches": 16 if size == "full" else 12}
    tasks = {
        f"Braid, {each:g} results a row": Task(
            "Braid", family, {**large, "matches_per_row": each}, large["batches"], warm_up=6
        )
        for each in results
    }
    return Benchmark(family, f"{title}, window ±10 s, 2 × 1,000 rows a second of event time", tasks)


def nested_loop(size: Size) -> Benchmark:
    """A predicate that no index serves, as SQL and as a Python function."""
    batches, warm_up = (20, 8) if size == "full" else (10, 6)
    options = {"seconds_per_batch": 4, "batches": batches}
    tasks = {
        label: Task("Braid", "nested_loop", {**options, "by": by}, batches, warm_up)
        for label, by in (("by SQL", "sql"), ("by a function", "function"))
    }
    return Benchmark(
        "nested-loop",
        "Distance in the plane, nested loop, window ±10 s, 2 × 2,500 rows a second",
        tasks,
        (
            Target("comparisons a second and core by SQL", comparisons_per_core("by SQL"), 2e8),
            Target("comparisons a second and core by a function", comparisons_per_core("by a function"), 0.5e8),
        ),
    )


def wide(size: Size) -> Benchmark:
    """Rows of 1,250 bytes of which few match."""
    batches = 30 if size == "full" else 20
    tasks = {
        "Braid": Task("Braid", "wide", {"batches": batches}, batches, warm_up=11),
        "Spark": Task("Spark", "wide", {"batches": batches}, 16, warm_up=11, limit_seconds=2 * LIMIT_SECONDS[size]),
    }
    return Benchmark(
        "wide",
        "Equality, window ±10 s, 2 × 10,000 rows of 1,250 bytes a second",
        tasks,
        (Target("over Spark", rate_ratio("Braid", "Spark")),),
    )


def many(size: Size) -> Benchmark:
    """Three streams: a common key, and a chain of bands."""
    batches = 30 if size == "full" else 20
    tasks = {
        label: Task("Braid", "many", {"by": by, "batches": batches}, batches, warm_up=12)
        for label, by in (("one key", "equality"), ("chain of bands", "band"))
    }
    tasks["Spark, one key"] = Task(
        "Spark", "many", {"by": "equality", "batches": batches}, 18, warm_up=12, limit_seconds=2 * LIMIT_SECONDS[size]
    )
    return Benchmark("three-streams", "Three streams of 10,000 rows a second, window 10 s", tasks)


def history(size: Size) -> Benchmark:
    """Nothing ever expires."""
    batches = 120 if size == "full" else 40
    tasks = {"Braid": Task("Braid", "history", {"batches": batches}, batches, warm_up=batches // 2)}
    return Benchmark("history", "Equality over the whole history, 2 × 10,000 rows a batch", tasks)


def nexmark(size: Size) -> Benchmark:
    """The joins of Nexmark, beside Spark's own."""
    batches = 30 if size == "full" else 18
    tasks = {}
    for query in ("q3", "q8", "q9", "q20"):
        family, options = f"nexmark-{query}", {"batches": batches}
        tasks[f"Braid, {query}"] = Task("Braid", family, options, batches, warm_up=11)
        tasks[f"Spark, {query}"] = Task("Spark", family, options, 16, warm_up=11, limit_seconds=2 * LIMIT_SECONDS[size])
    targets = tuple(
        Target(f"{query} over Spark", rate_ratio(f"Braid, {query}", f"Spark, {query}"))
        for query in ("q3", "q8", "q9", "q20")
    )
    return Benchmark("nexmark", "The joins of Nexmark, batches of 1 s", tasks, targets)


def tpch(size: Size) -> Benchmark:
    """TPC-H rows as streams, over the whole history."""
    options = {"scale_factor": 1.0 if size == "full" else 0.2, "batches": 20}
    tasks = {
        f"Braid, {query}": Task("Braid", f"tpch-{query}", options, 20, warm_up=5) for query in ("q5", "q7", "band")
    }
    for query in ("q5", "q7"):
        tasks[f"Spark, {query}"] = Task(
            "Spark", f"tpch-{query}", options, 20, warm_up=5, limit_seconds=2 * LIMIT_SECONDS[size]
        )
    return Benchmark("tpch", "TPC-H streams over the whole history", tasks)


def small(size: Size) -> Benchmark:
    """Batches of 1,000 rows, beside a Spark query that does nothing."""
    batches = 160 if size == "full" else 60
    options = {"rows_per_second": 500, "batches": batches}
    tasks = {
        "Braid": Task("Braid", "equality", options, batches, warm_up=20),
        "Spark, no-op": Task("Spark no-op", "equality", options, batches, warm_up=20),
    }
    return Benchmark(
        "small",
        "Batches of 1,000 rows, window ±10 s",
        tasks,
        (
            Target(
                "p50 of a step, seconds above Spark's no-op trigger",
                step_difference("Braid", "Spark, no-op"),
                at_most=0.3,
            ),
            Target("p99 of a step, seconds", step_seconds("Braid", 0.99), at_most=1.5),
        ),
    )


BENCHMARKS: dict[str, Callable[[Size], Benchmark]] = {
    "spine": spine,
    "equality": equality,
    **comparisons.BENCHMARKS,
    "long-window": long_window,
    "skew": skew,
    "band": band,
    "theta": theta,
    "nested-loop": nested_loop,
    "wide": wide,
    "three-streams": many,
    "history": history,
    "nexmark": nexmark,
    "tpch": tpch,
    "small": small,
    "window": curves.window,
    "streams": curves.streams,
    "units": curves.units,
    "results": curves.results,
    "batch": curves.batch,
    "length": curves.length,
}
QUICK = ("equality", "skew", "band-batches", "nested-loop", "small", "window")
FULL = tuple(name for name in BENCHMARKS if name != "spine")
