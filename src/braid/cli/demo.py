"""`braid demo`: pairs of vehicles from two position feeds that came within 100 m and 5 s of each other.

The feeds grow while the join runs: a file is added to each as soon as the join has caught up. Results and checkpoint
stay in the demo's directory, so the next demo continues there.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import typer
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf
from rich.console import Console
from rich.live import Live

from braid.api.interrupts import plain_interrupts
from braid.api.join import Join, join
from braid.api.run import Run
from braid.api.stream import stream
from braid.cli.checking import check_sample
from braid.cli.local_spark import local_spark
from braid.cli.screen import RATES, LiveView, Totals, encounters_table, step_header, step_line
from braid.cli.traffic import Fleet, files_in, write_file
from braid.errors import BraidError, RestartError

TAXIS = Fleet("taxi", seed=11, vehicles=2000)
VANS = Fleet("van", seed=23, vehicles=2000)
FLEETS = (TAXIS, VANS)
ROWS_PER_STEP = sum(fleet.rows_per_file for fleet in FLEETS)
DEFAULT_ROWS = 12 * ROWS_PER_STEP

NEAR = (
    "abs(taxi.x - van.x) <= 100 AND (taxi.x - van.x) * (taxi.x - van.x) + (taxi.y - van.y) * (taxi.y - van.y) <= 10000"
)
COLUMNS = (
    "taxi.vehicle AS taxi",
    "van.vehicle AS van",
    "sqrt((taxi.x - van.x) * (taxi.x - van.x) + (taxi.y - van.y) * (taxi.y - van.y)) AS metres",
    "taxi.ts AS taxi_time",
    "van.ts AS van_time",
    "taxi.x AS x",
    "taxi.y AS y",
    "result_time",
)
FEED = "vehicle string, ts timestamp, x double, y double"
SPARK_CONDITION = f"{NEAR} AND taxi.ts BETWEEN van.ts - INTERVAL 5 SECONDS AND van.ts + INTERVAL 5 SECONDS"

FILES_AHEAD = 2
POLL_SECONDS = 0.05
QUIET_SECONDS = 0.6
SHOWN_ENCOUNTERS = 8


@dataclass(frozen=True)
class Places:
    """The directories of a demo."""

    root: Path

    @property
    def marker(self) -> Path:
        """Marks the directory as a demo's, which a demo may delete."""
        return self.root / ".braid-demo"

    @property
    def output(self) -> Path:
        return self.root / "encounters"

    @property
    def checkpoint(self) -> Path:
        return self.root / "checkpoint"

    @property
    def log(self) -> Path:
        return self.root / "spark.log"

    @property
    def steps(self) -> Path:
        """A line for every step of every run."""
        return self.root / "steps.log"

    def feed(self, fleet: Fleet) -> Path:
        return self.root / "feeds" / fleet.name


def run_demo(directory: Path, rows: int, fresh: bool, debug: bool) -> None:
    """Send `rows` more rows through the join, show its progress and its results."""
    began = time.monotonic()
    console = Console()
    places = Places(directory)
    console.print(prepare(places, fresh))
    console.print("Starting Spark ...", style="dim")
    with local_spark("braid-demo", None if debug else places.log) as spark:
        feeding = _Feeding(places, steps=-(-rows // ROWS_PER_STEP))
        feeding.send()
        console.print(f"The predicate: {NEAR}, both windows 5 s")
        console.print(f"Spark's own stream-stream join: [red]{_spark_says(spark, places)}[/red]")
        totals = _join(spark, places, feeding, console)
        _show_results(spark, places, totals, console)
        _check(places, console)
    console.print(f"Total time {time.monotonic() - began:.0f} s, of which {totals.seconds:.0f} s joining.")


def prepare(places: Places, fresh: bool) -> str:
    """Prepare the directory, and print whether the demo continues or starts."""
    root = places.root
    earlier = places.marker.exists()
    if root.exists() and not earlier and any(root.iterdir()):
        raise typer.BadParameter(
            f"{root} has files in it that are not a demo's; choose another directory.", param_hint="'--dir'"
        )
    if earlier and fresh:
        shutil.rmtree(root)
    root.mkdir(parents=True, exist_ok=True)
    places.marker.touch()
    if earlier and not fresh and places.checkpoint.exists():
        return f"Continuing the demo in {root} with new rows, on the same checkpoint (--fresh starts again)."
    return f"Starting a new demo in {root}."


class _Feeding:
    """Adds files to both feeds, as many as the demo will join."""

    def __init__(self, places: Places, steps: int) -> None:
        self._places = places
        self._next = min(files_in(places.feed(fleet)) for fleet in FLEETS)
        self._last = self._next + steps
        self.planned_rows = steps * ROWS_PER_STEP
        self.sent_rows = 0

    @property
    def is_over(self) -> bool:
        return self._next == self._last

    def send(self) -> None:
        """One file to each feed; a feed that an interrupted demo left one ahead gets the same file again."""
        for fleet in FLEETS:
            if files_in(self._places.feed(fleet)) == self._next:
                self.sent_rows += write_file(fleet, self._next, self._places.feed(fleet))
        self._next += 1

    def keep_ahead_of(self, joined_rows: int) -> None:
        """Send until the join has a few unread files."""
        while not self.is_over and self.sent_rows - joined_rows < FILES_AHEAD * ROWS_PER_STEP:
            self.send()


def _join(spark: SparkSession, places: Places, feeding: _Feeding, console: Console) -> Totals:
    """Run the join until it has read everything that was sent."""
    totals = Totals(feeding.planned_rows)
    try:
        run = (
            _query(spark, places)
            .writeStream.options(path=places.output.as_posix(), checkpointLocation=places.checkpoint.as_posix())
            .start()
        )
    except RestartError as error:
        raise BraidError(
            error.message,
            error.detail,
            "The demo's query has changed since that directory was made: run it again with --fresh.",
        ) from error
    try:
        with plain_interrupts():
            _show_steps(_steps(run, feeding, totals), places, totals, console)
    finally:
        run.stop()
    console.print()
    return totals


def _show_steps(steps: Iterator[dict[str, Any]], places: Places, totals: Totals, console: Console) -> None:
    """A line for every step, on the screen and in the log; below them, on a terminal, the progress of the run."""
    live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None
    with places.steps.open("a") as log, live or nullcontext():
        for line in chain([step_header()], _counted(steps, totals)):
            print(line, file=log, flush=True)
            console.print(line, highlight=False, soft_wrap=True)
            if live is not None:
                live.update(LiveView(totals))
    console.print(RATES, style="dim")


def _counted(steps: Iterator[dict[str, Any]], totals: Totals) -> Iterator[str]:
    """The lines of steps; each is added to the totals first."""
    for progress in steps:
        totals.add(progress)
        yield step_line(progress)


def _check(places: Places, console: Console) -> None:
    """Print whether brute force has the same results for a sample; wrong results are an error."""
    checked = check_sample(places.feed(TAXIS), places.feed(VANS), places.output)
    if not checked.is_right:
        raise BraidError(
            checked.describe(), hint=f"Please report it with the directory {places.root}, which has all that is needed."
        )
    console.print(checked.describe(), style="green")


def _steps(run: Run, feeding: _Feeding, totals: Totals) -> Iterator[dict[str, Any]]:
    """The progress of each step, until everything was sent and nothing was left to do for a while."""
    seen, quiet_since = -1, time.monotonic()
    while time.monotonic() - quiet_since < QUIET_SECONDS:
        if not run.isActive:
            run.awaitTermination()
            return
        for progress in run.recentProgress:
            if progress["batchId"] > seen:
                seen = progress["batchId"]
                yield progress
        feeding.keep_ahead_of(totals.rows)
        status = run.status
        totals.watch(status)
        if not feeding.is_over or status["isDataAvailable"] or status["isTriggerActive"] or seen < 0:
            quiet_since = time.monotonic()
        time.sleep(POLL_SECONDS)


def _query(spark: SparkSession, places: Places) -> Join:
    taxis, vans = (
        stream(fleet.name, _read(spark, places, fleet), time="ts", window="5 seconds", lateness="5 seconds")
        for fleet in FLEETS
    )
    return join(taxis, vans).on(NEAR).select(*COLUMNS)


def _read(spark: SparkSession, places: Places, fleet: Fleet) -> DataFrame:
    return spark.readStream.schema(FEED).option("maxFilesPerTrigger", 1).parquet(places.feed(fleet).as_posix())


def _spark_says(spark: SparkSession, places: Places) -> str:
    """Run the same join in Spark; its answer, in its own words."""
    taxis, vans = (_read(spark, places, fleet).withWatermark("ts", "5 seconds").alias(fleet.name) for fleet in FLEETS)
    query = taxis.join(vans, sf.expr(SPARK_CONDITION)).writeStream.format("noop").trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        message = str(error).partition("terminated with exception: ")[2] or str(error)
        return message.splitlines()[0].rstrip(";")
    return "accepted by this version of Spark"


def _show_results(spark: SparkSession, places: Places, totals: Totals, console: Console) -> None:
    pairs: Any = (
        spark.read.parquet(places.output.as_posix())
        .groupBy("taxi", "van")
        .agg(
            sf.count("*").alias("reports"),
            sf.min("metres").alias("metres"),
            sf.min_by("taxi_time", "metres").alias("time"),
            sf.min_by("x", "metres").alias("x"),
            sf.min_by("y", "metres").alias("y"),
        )
        .toPandas()
    )
    console.print(encounters_table(pairs.nsmallest(SHOWN_ENCOUNTERS, "metres")))
    late = f"; {totals.late:,} rows came too late and are kept in the checkpoint" if totals.late else ""
    console.print(
        f"{totals.rows:,} rows joined in {totals.steps} steps; the run's rate was {totals.rows_per_second:,.0f} rows/s"
        f"{late}.\n"
        f"{int(pairs['reports'].sum()):,} pairs of reports within 100 m and 5 s, of {len(pairs):,} pairs of vehicles."
    )
    console.print(
        f"Results     {places.output}   read them with spark.read.parquet({places.output.as_posix()!r})\n"
        f"Checkpoint  {places.checkpoint}   the same command continues here\n"
        f"Steps       {places.steps}",
        soft_wrap=True,
    )
