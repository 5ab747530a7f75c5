"""Polars, the whole join at once from the files into a frame in memory: like DuckDB, a limit to aim at."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

TIME = "ts"
SECOND_US = 1_000_000


def join_at_once(
    files: dict[str, list[str]],
    keys: tuple[str, ...],
    window_seconds: float,
    select: tuple[tuple[str, str, str], ...],
    threads: int,
) -> polars.DataFrame:
    """The pairs of the two streams' rows with equal keys, within the window, by the streaming engine.

    `select` holds a stream, its column and the name in the result.
    """
    limit_threads(threads)
    import polars

    left, right = files
    used = {(stream, column) for stream in files for column in (TIME, *keys)}
    used |= {(stream, column) for stream, column, _ in select}
    r, s = (_scan(stream, files[stream], sorted(column for name, column in used if name == stream)) for stream in files)
    apart_us = polars.col(f"{left}.{TIME}") - polars.col(f"{right}.{TIME}")
    window_us = round(window_seconds * SECOND_US)
    equal = r.join(s, left_on=[f"{left}.{key}" for key in keys], right_on=[f"{right}.{key}" for key in keys])
    pairs = equal.filter(apart_us.is_between(-window_us, window_us))
    chosen = [polars.col(f"{stream}.{column}").alias(name) for stream, column, name in select]
    return pairs.select(chosen).collect(engine="streaming")


def limit_threads(threads: int) -> None:
    """Polars reads the number of its threads once, when it is first imported."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    import polars

    if polars.thread_pool_size() != threads:
        raise RuntimeError(
            f"Polars runs with {polars.thread_pool_size()} threads, not {threads}: it was imported before. "
            "Join in a process of its own."
        )


def _scan(stream: str, files: list[str], columns: list[str]) -> polars.LazyFrame:
    """A stream's columns under `stream.column`, its times in microseconds: integers compare faster than calendars."""
    import polars

    named = [polars.col(column).alias(f"{stream}.{column}") for column in columns]
    time = polars.col(f"{stream}.{TIME}")
    return polars.scan_parquet(files).select(named).with_columns(time.dt.epoch("us"))
