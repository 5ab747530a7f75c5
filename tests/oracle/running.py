"""Cases put to Braid: as a static join, or as a streaming run over files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import braid
from braid.errors import StrategyError
from tests.oracle.cases import Case, Input, Query

FIRST_MTIME = 1_700_000_000
STRATEGIES = {
    kind.__name__: kind
    for kind in (
        braid.AlignedRouting,
        braid.Auto,
        braid.Biclique,
        braid.CoordinatedRouting,
        braid.Matrix,
        braid.Partitioned,
        braid.TimeSliced,
    )
}


def build(case: Case, query: Query, frames: Mapping[str, DataFrame], order: Sequence[int] | None = None) -> braid.Join:
    """The query as a user writes it; the streams in another order when one is given."""
    positions = range(len(case.inputs)) if order is None else order
    join = braid.join(*(_stream(case.inputs[n], query, n, frames[case.inputs[n].name]) for n in positions))
    for condition in query.conditions:
        if condition.function is None:
            join = join.on(condition.sql)
        else:
            join = join.on(braid.udf(condition.function, *condition.arguments, raises=not condition.promised))
    return join.select(*query.selection) if query.selection else join


def with_strategy(join: braid.Join, text: str) -> braid.Join:
    """The join under a strategy; where it cannot interleave, without that, and else under Auto."""
    chosen = eval(text, dict(STRATEGIES))
    for strategy in (chosen, replace(chosen, interleave=1)) if isinstance(chosen, braid.TimeSliced) else (chosen,):
        try:
            strategy.layout(join.plan(), 2)
        except StrategyError:
            continue
        return join.using(strategy)
    return join


def write_batches(entry: Input, directory: Path) -> None:
    """One Parquet file a batch, with modification times in order."""
    directory.mkdir(parents=True)
    for number, rows in enumerate(entry.cut()):
        path = directory / f"{number:03d}.parquet"
        pq.write_table(rows, path)
        os.utime(path, (FIRST_MTIME + number, FIRST_MTIME + number))


def streaming_frames(spark: SparkSession, inputs: Sequence[Input], directory: Path) -> dict[str, DataFrame]:
    """The inputs as file streams that give one batch file a trigger."""
    frames = {}
    for entry in inputs:
        path = directory / entry.name
        write_batches(entry, path)
        schema = spark.createDataFrame(entry.rows.slice(0, 0)).schema
        frames[entry.name] = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(path))
    return frames


def run_to_end(join: braid.Join, directory: Path) -> Path:
    """Run all there is; the directory of the results."""
    output = directory / "out"
    writer = join.writeStream.format("parquet").option("checkpointLocation", str(directory / "checkpoint"))
    run = writer.trigger(availableNow=True).start(str(output))
    run.awaitTermination()
    return output


def code_of(case: Case, query: Query) -> str:
    """The query as Python text, for a failure message."""
    streams = [
        f"    braid.stream({entry.name!r}, {entry.name}, time={entry.time!r}, window={_spelled(window)}"
        + ("" if lateness is None else f", lateness={_spelled(lateness)}")
        + "),"
        for entry, window, lateness in zip(case.inputs, query.windows, query.latenesses, strict=True)
    ]
    lines = ["braid.join(", *streams, ")"]
    for condition in query.conditions:
        if condition.function is None:
            lines.append(f".on({condition.sql!r})")
        else:
            arguments = ", ".join(map(repr, condition.arguments))
            lines.append(f".on(braid.udf({condition.function.__name__}, {arguments}, raises={not condition.promised}))")
    if query.selection:
        lines.append(f".select({', '.join(map(repr, query.selection))})")
    return "\n".join([*lines, f".using(braid.{query.strategy})"])


def _stream(entry: Input, query: Query, position: int, frame: DataFrame) -> braid.Stream:
    window, lateness = query.windows[position], query.latenesses[position]
    return braid.stream(
        entry.name,
        frame,
        time=entry.time,
        window=braid.unbounded if window == "unbounded" else window,
        lateness=braid.unbounded if lateness == "unbounded" else lateness,
    )


def _spelled(duration: str) -> str:
    return "braid.unbounded" if duration == "unbounded" else repr(duration)
