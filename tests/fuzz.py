"""`python -m tests.fuzz`: random queries against the oracles until one differs, the time is up, or all are done.

A seed is ten static queries, a streaming run with its repetition under another strategy, and a recut run. The first
difference ends it with exit code 1, the seed, the query, and the fewest rows that still show it.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from tests.oracle.checks import Checked, Difference, check_recut, check_static, check_streaming
from tests.oracle.shrinking import shrink
from tests.session import start_session

QUERIES_A_SEED = 10
# It says nothing of its own, and runs long enough for the JVM to compile well.
SETTINGS = {"spark.log.level": "OFF", "spark.driver.extraJavaOptions": ""}


@dataclass
class Tally:
    """What was checked so far."""

    cases: int = 0
    results: int = 0
    empty: int = 0
    began: float = field(default_factory=time.monotonic)

    def add(self, checked: Checked) -> None:
        self.cases += checked.queries
        self.results += checked.results
        self.empty += checked.empty

    def minutes(self) -> float:
        return (time.monotonic() - self.began) / 60

    def text(self, seed: int) -> str:
        return f"seed {seed}: {self.cases} cases, {self.results} results, {self.empty} empty answers"


def fuzz(
    cases: Annotated[int, typer.Option(help="How many cases to check.")] = 2000,
    seed: Annotated[int, typer.Option(help="The first seed; each gives about a dozen cases.")] = 1,
    minutes: Annotated[float, typer.Option(help="Stop after this long.")] = 60.0,
) -> None:
    """Random joins against Spark's cross join and DuckDB."""
    console = Console()
    scratch = tempfile.TemporaryDirectory(prefix="braid-fuzz-")
    spark = start_session(scratch.name, more=SETTINGS)
    tally = Tally()
    try:
        _check_all(spark, console, tally, Path(scratch.name), cases, seed, minutes)
    except Difference as difference:
        console.print(str(difference), style="red", markup=False, highlight=False)
        console.print(shrink(spark, difference.case, difference.query), markup=False, highlight=False)
        console.print(f"Again: python -m tests.fuzz --cases 1 --seed {difference.case.seed}", markup=False)
        raise typer.Exit(1) from None
    finally:
        spark.stop()
        scratch.cleanup()


def _check_all(
    spark: SparkSession, console: Console, tally: Tally, scratch: Path, cases: int, seed: int, minutes: float
) -> None:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(tally.text(seed), total=cases)
        while tally.cases < cases and tally.minutes() < minutes:
            for number, check in enumerate(_checks(spark, seed, scratch / str(seed))):
                tally.add(check())
                progress.update(task, completed=min(tally.cases, cases), description=tally.text(seed))
                if tally.minutes() >= minutes and number:
                    break
            seed += 1
    console.print(f"No difference. Up to {tally.text(seed - 1)}, {tally.minutes():.1f} minutes.")


def _checks(spark: SparkSession, seed: int, directory: Path) -> tuple[Callable[[], Checked], ...]:
    return (
        lambda: check_static(spark, seed, QUERIES_A_SEED),
        lambda: check_streaming(spark, seed, directory),
        lambda: check_recut(spark, seed, directory),
    )


if __name__ == "__main__":
    typer.run(fuzz)
