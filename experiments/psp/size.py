"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """In the model: the lengths of rings, the seconds in which rows come, and the runs with other arrivals.

    With the engine: the rows of each stream in a window, the rows of a step, and the steps that are counted after the
    windows have filled. On Spark: the numbers of streams, the rows of each in a window, and the batches that count;
    with interleaved rounds, the numbers of streams and all batches.
    """

    name: str
    nodes: tuple[int, ...]
    seconds: float
    seeds: int
    adaptation_seconds: float
    rounds: int
    window_rows: int
    counted_steps: int
    units: tuple[int, ...]
    spark_ways: tuple[int, ...]
    spark_window_rows: int
    spark_batches: int
    interleaved_ways: tuple[int, ...]
    interleaved_batches: int


SIZES = {
    "quick": Size(
        name="quick",
        nodes=(4, 7, 10, 14, 19),
        seconds=1.5,
        seeds=3,
        adaptation_seconds=30.0,
        rounds=3,
        window_rows=60,
        counted_steps=3,
        units=(4, 8),
        spark_ways=(3, 5),
        spark_window_rows=40,
        spark_batches=3,
        interleaved_ways=(3, 5),
        interleaved_batches=14,
    ),
    "full": Size(
        name="full",
        nodes=tuple(range(4, 20)),
        seconds=5.0,
        seeds=3,
        adaptation_seconds=60.0,
        rounds=3,
        window_rows=240,
        counted_steps=6,
        units=(4, 8, 14, 19),
        spark_ways=(3, 5, 7, 9),
        spark_window_rows=240,
        spark_batches=6,
        interleaved_ways=(3, 5, 7),
        interleaved_batches=40,
    ),
}
