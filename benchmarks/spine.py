"""The spine benchmark: one equality join, Braid against Spark's own join and against DuckDB.

    python -m benchmarks.spine [--quick] [--batches N] [--dir DIRECTORY]

Two streams of 50,000 rows a second of event time, window ±10 s, uniform keys, about 5 partners a row:

  100 K   batches of 100,000 rows (1 s of event time). Braid's and Spark's stream-stream join, each with a parquet
          sink, over the batches after the first 12. Spark is slower: it gets fewer batches, and a time limit.
  1 M     the same rows in batches of 1,000,000 (10 s). Braid over the batches after the first 2; DuckDB joins all the
          files at once into a table, best of 3: with its default settings, which the target is against, and tuned
          (times compared as integers, order of rows not kept). A longer input slows DuckDB down, since it pairs equal
          keys of all times before it looks at the window.

Each system has a process of its own, after the other. Every answer is compared, rows and values, with DuckDB's answer
over the batches it covers; a difference, or a system that fails, exits with 1. Missed targets do not.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from benchmarks.bench import Bench
from benchmarks.isolation import TaskFailed
from benchmarks.report import Row, Target, describe_run, print_report, write_json
from benchmarks.workload import Workload

RESULTS = Path(__file__).parent / "results" / "spine.json"
CORES = 2
ROWS_PER_SECOND = 50_000  # in each stream
WARM_UP = 12  # batches of 1 s until the window is full and something expires
LARGE_WARM_UP = 2  # batches of 10 s
BRAID_OVER_SPARK = 5.0
BRAID_OVER_DUCKDB = 0.2
SPARK_LIMIT_SECONDS = 150.0
BRAID_LIMIT_SECONDS = 120.0


@dataclass(frozen=True)
class Sizes:
    """How many batches each system gets."""

    braid: int = 40
    spark: int = 24
    large: int = 10
    duckdb_repeats: int = 3


QUICK = Sizes(braid=18, spark=14, large=5)


def main(
    quick: Annotated[bool, typer.Option("--quick", help="Fewer batches: to try the script, not to quote.")] = False,
    batches: Annotated[
        int | None, typer.Option(min=WARM_UP + 1, help="Batches of 100 K rows for Braid; Spark gets no more.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option("--dir", help="A new or empty directory to work in; it is kept.")
    ] = None,
    output: Annotated[Path, typer.Option(help="Where the JSON goes.")] = RESULTS,
) -> None:
    """Measure Braid, Spark's own join and DuckDB on one equality join."""
    sizes = _sizes(quick, batches)
    if directory is None:
        with tempfile.TemporaryDirectory(prefix="braid-spine-") as scratch:
            _measure(Path(scratch), sizes, quick, output)
        return
    if directory.exists() and any(directory.iterdir()):
        raise typer.BadParameter(f"{directory} is not empty.", param_hint="--dir")
    _measure(directory.resolve(), sizes, quick, output)


def _sizes(quick: bool, batches: int | None) -> Sizes:
    sizes = QUICK if quick else Sizes()
    if batches is None:
        return sizes
    return Sizes(batches, min(batches, sizes.spark), sizes.large, sizes.duckdb_repeats)


def _measure(directory: Path, sizes: Sizes, quick: bool, output: Path) -> None:
    console = Console()
    run = describe_run("spine", {"quick": quick, "cores": CORES, "batches": asdict(sizes)})
    bench = Bench(directory, console, CORES)
    small = Workload("100 K", ROWS_PER_SECOND, seconds_per_batch=1, batches=max(sizes.braid, sizes.spark))
    large = Workload("1 M", ROWS_PER_SECOND, seconds_per_batch=10, batches=sizes.large)
    try:
        with bench.progress:
            bench.generate(small)
            bench.generate(large)
            braid = bench.run("Braid", "braid", small, sizes.braid, WARM_UP, limit_seconds=BRAID_LIMIT_SECONDS)
            spark = bench.run("Spark", "spark", small, sizes.spark, WARM_UP, limit_seconds=SPARK_LIMIT_SECONDS)
            braid_large = bench.run(
                "Braid", "braid", large, sizes.large, LARGE_WARM_UP, limit_seconds=BRAID_LIMIT_SECONDS
            )
            duckdb = bench.run("DuckDB", "duckdb", large, sizes.large, repeats=sizes.duckdb_repeats)
            tuned = bench.run("DuckDB, tuned", "duckdb-tuned", large, sizes.large, repeats=sizes.duckdb_repeats)
            rows = bench.compare([braid, spark, braid_large, duckdb, tuned])
    except TaskFailed as failure:
        console.print(str(failure), style="red", markup=False)
        raise typer.Exit(1) from failure
    targets = _targets(*rows)
    print_report(console, rows, targets)
    write_json(output, run, rows, targets)
    console.print(f"Written: {output}")
    if not all(row.agrees for row in rows):
        console.print("Answers differ: the rates mean nothing.", style="red")
        raise typer.Exit(1)


def _targets(braid: Row, spark: Row, braid_large: Row, duckdb: Row, tuned: Row) -> list[Target]:
    return [
        Target("Braid over Spark's own join, batches of 100 K", _ratio(braid, spark), BRAID_OVER_SPARK),
        Target("Braid over DuckDB at once, batches of 1 M", _ratio(braid_large, duckdb), BRAID_OVER_DUCKDB),
        Target("Braid over DuckDB tuned, batches of 1 M", _ratio(braid_large, tuned), None),
    ]


def _ratio(one: Row, other: Row) -> float:
    return one.rows_per_second / other.rows_per_second


if __name__ == "__main__":
    typer.run(main)
