"""Braid beside other systems on equal terms: the same batches, and the highest rate with results in time.

Flink has no batches: rows pass through it one by one, whatever the files. Spark takes minutes for a batch of 200,000
rows without an equality, and that it does is a result as well.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.benchmark import Benchmark, Size
from benchmarks.peers.flink import CHECKPOINTS
from benchmarks.targets import Target, rate_ratio
from benchmarks.tasks import Task

SMALL, LARGE = "batches of 10,000", "batches of 200,000"
FLINK, FLINK_CHECKPOINTS = "Flink, no checkpoints", "Flink, checkpoints every 0.5 s"
FILLING_SECONDS = 400.0  # to join the first window: without a key Pathway needs minutes for its 10⁸ pairs
WITHOUT_EQUALITY = "window ±10 s, 2 × 1,000 rows a second of event time"


def batches(family: str, title: str) -> Callable[[Size], Benchmark]:
    """Sustained rates of a join without an equality: Braid and Spark at two sizes of batches, Flink without."""

    def make(size: Size) -> Benchmark:
        full = size == "full"
        small: dict[str, Any] = {"seconds_per_batch": 5, "batches": 100}
        large: dict[str, Any] = {"seconds_per_batch": 100, "batches": 12}
        tasks = {
            f"Braid, {SMALL}": Task("Braid", family, small, 100, warm_up=60),
            f"Spark, constant key, {SMALL}": Task(
                "Spark", family, small, 4, warm_up=2, limit_seconds=110 if full else 75
            ),
            FLINK: Task("Flink", family, small, 5, limit_seconds=180),
            FLINK_CHECKPOINTS: Task("Flink", family, small, 5, limit_seconds=180, settings=dict(CHECKPOINTS)),
            f"Braid, {LARGE}": Task("Braid", family, large, 12, warm_up=6),
        }
        if full:
            tasks[f"Spark, constant key, {LARGE}"] = Task("Spark", family, large, 2, limit_seconds=60)
        if full:
            tasks["Pathway"] = Task("Pathway", family, small, 3, limit_seconds=60)
        braid = f"Braid, {SMALL}"
        return Benchmark(
            f"{family}-batches",
            f"{title} at equal batches, {WITHOUT_EQUALITY}",
            tasks,
            (
                Target(
                    f"Braid over Spark with a constant key, both in {SMALL}",
                    rate_ratio(braid, f"Spark, constant key, {SMALL}"),
                    100,
                ),
                Target(f"Braid in {SMALL} over Flink without checkpoints", rate_ratio(braid, FLINK), 20),
                Target(f"Braid in {SMALL} over Flink with checkpoints", rate_ratio(braid, FLINK_CHECKPOINTS), 20),
            ),
        )

    return make


def rates(family: str, title: str, first: Mapping[str, float]) -> Callable[[Size], Benchmark]:
    """The highest rate of each system with results in time.

    `first` is what each is offered first: near what it was seen to hold, so that a search needs few tries.
    """

    def make(size: Size) -> Benchmark:
        tasks = {
            label: Task(
                label.partition(",")[0],
                family,
                {},
                1,
                limit_seconds=FILLING_SECONDS,
                mode="search",
                rows_per_second=rate,
                settings=dict(CHECKPOINTS) if label == FLINK_CHECKPOINTS else {},
            )
            for label, rate in first.items()
        }
        return Benchmark(f"{family}-rates", f"{title}: lateness by the rate at which rows arrive", tasks)

    return make


BENCHMARKS: dict[str, Callable[[Size], Benchmark]] = {
    "band-batches": batches("band", "Band join |r.x - s.x| <= d"),
    "theta-batches": batches("theta", "Inequalities on two attributes"),
    "equality-rates": rates(
        "equality",
        "Equality, window ±10 s",
        {
            "Braid": 1_000_000,
            "Spark": 25_000,
            "Spark RocksDB": 10_000,
            "Spark v4": 16_000,
            FLINK: 125_000,
            FLINK_CHECKPOINTS: 80_000,
            "Pathway": 30_000,
        },
    ),
    "band-rates": rates(
        "band",
        "Band join |r.x - s.x| <= d, window ±10 s",
        {"Braid": 1_600_000, FLINK: 2_500, FLINK_CHECKPOINTS: 3_200, "Spark, constant key": 640, "Pathway": 40},
    ),
    "theta-rates": rates(
        "theta",
        "Inequalities on two attributes, window ±10 s",
        {"Braid": 1_250_000, FLINK: 2_500, FLINK_CHECKPOINTS: 2_500, "Spark, constant key": 640, "Pathway": 40},
    ),
}
