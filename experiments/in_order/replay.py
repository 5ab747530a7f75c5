"""Two streams replayed on Spark in compressed time: a row of the slower one a turn, many small files of the faster one.

The predicate keeps a core busy for a set time a pair, so a lookup costs what the paper's c says. Rows carry the time at
which their file is due, so what the engine reports of its frontier tells when every row left.
"""

from __future__ import annotations

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from benchmarks.peers.streaming import Places, open_session
from benchmarks.tasks import Task
from braid.control.ordering import Policy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from braid.api.run import Run

ALPHA = 0.1
WINDOW_SECONDS = 4
FAST_RATE = 200
FILE_SECONDS = 0.5
ROWS_A_FILE = round(FAST_RATE * FILE_SECONDS)
SELECTED = 0.01
STREAMS = ("slow", "fast")
SCHEMA = "ts timestamp, v double"
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
POLL_SECONDS = 0.005
LIMIT_SECONDS = 600  # an overloaded run needs half a minute for what has queued


@dataclass(frozen=True)
class Pacing:
    """How long a run is fed, and from which second on it counts."""

    seconds: float
    warm_up: float


Burning = Literal["elapsed", "cpu"]
"""What a pair costs: seconds of the clock, whatever else runs, or of a core, which queries then share."""


@dataclass(frozen=True)
class Replay:
    """A run: the seconds a pair costs, those between two rows of the slower stream, and the policy.

    So many `queries` of the same kind run on the same input at once.
    """

    cost: float
    turn: float
    policy: Policy
    queries: int = 1
    burning: Burning = "elapsed"


@dataclass(frozen=True)
class Step:
    """What a step reported: when it began and ended, seconds of the replay, and how far results had left after it."""

    began: float
    ended: float
    frontier: float | None
    said: tuple[str, ...]
    order: dict[str, Any]
    buffered: dict[str, Any]
    state_bytes_a_row: float


class Replayer:
    """Runs replays on one session, one after the other."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._numbers = count()

    def run(self, replay: Replay, pacing: Pacing) -> list[list[Step]]:
        """Feed the queries on schedule, stop them when they have taken everything, and return the steps of each."""
        place = self._directory / f"run-{next(self._numbers)}"
        files = write_files(place / "made", replay.turn, pacing.seconds)
        for stream in STREAMS:
            (place / "input" / stream).mkdir(parents=True)
        queries: list[Run] = []
        try:
            queries.extend(self._start(place, number, replay) for number in range(replay.queries))
            began = _feed(files, place / "input", queries)
            last = last_turn(replay.turn, pacing.seconds)
            latest = time.monotonic() + LIMIT_SECONDS
            _wait_until(queries, lambda: all(_frontier_of(query) >= last for query in queries), latest)
            return [[_step(progress, began) for progress in query.recentProgress] for query in queries]
        finally:
            for query in queries:
                query.stop()
            shutil.rmtree(place, ignore_errors=True)

    def _start(self, place: Path, number: int, replay: Replay) -> Run:
        import braid

        streams = []
        for name in STREAMS:
            frame = self._spark.readStream.schema(SCHEMA).parquet(str(place / "input" / name))
            streams.append(braid.stream(name, frame, time="ts", window=f"{WINDOW_SECONDS} seconds"))
        join = braid.join(*streams).on(braid.udf(burning(replay.cost, replay.burning), "slow.v", "fast.v"))
        ordered = join.select("slow.v AS slow", "fast.v AS fast").ordered(replay.policy, ALPHA)
        writer = ordered.writeStream.format("parquet").option("checkpointLocation", str(place / f"checkpoint-{number}"))
        return writer.start(str(place / f"out-{number}"))


@contextmanager
def open_replayer() -> Iterator[Replayer]:
    """On the session that is there, or on one of its own."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        there = SparkSession.getActiveSession()
        if there is not None:
            yield Replayer(there, Path(directory))
            return
        spark = open_session(Task("Braid", "history", {}, 1), Places(Path(), Path(directory)))
        try:
            yield Replayer(spark, Path(directory))
        finally:
            spark.stop()


def burning(seconds: float, kind: Burning) -> Callable[[pa.Array, pa.Array], NDArray[np.bool_]]:
    """A predicate that keeps a core busy for so many seconds a pair, and lets few pairs through."""

    def near(one: pa.Array, other: pa.Array) -> NDArray[np.bool_]:
        clock = time.perf_counter if kind == "elapsed" else time.thread_time
        until = clock() + seconds * len(one)
        found: NDArray[np.bool_] = np.abs(one.to_numpy() - other.to_numpy()) < SELECTED / 2
        while clock() < until:
            pass
        return found

    return near


def write_files(directory: Path, turn: float, seconds: float) -> list[tuple[float, Path]]:
    """The files of both streams with the second they are due, in that order."""
    random = np.random.default_rng(11)
    made = [(due, "slow", np.array([due])) for due in _turns(turn, seconds)]
    for number in range(math.ceil(seconds / FILE_SECONDS)):
        due = (number + 1) * FILE_SECONDS
        made.append((due, "fast", due - FILE_SECONDS * (1 - np.arange(1, ROWS_A_FILE + 1) / ROWS_A_FILE)))
    files = []
    for number, (due, stream, times) in enumerate(sorted(made, key=lambda file: file[0])):
        path = directory / stream / f"{number:05d}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        instants = [FIRST + timedelta(seconds=float(second)) for second in times]
        columns = {"ts": pa.array(instants, pa.timestamp("us", "UTC")), "v": random.random(len(times))}
        pq.write_table(pa.table(columns), path)
        files.append((due, path))
    return files


def responses(steps: Sequence[Step], turn: float, pacing: Pacing) -> list[float]:
    """Of every row of the faster stream: the seconds from when its file was due to the end of the step it left in."""
    found = []
    for number in range(math.floor(pacing.warm_up / FILE_SECONDS), math.floor(pacing.seconds / FILE_SECONDS)):
        due = (number + 1) * FILE_SECONDS
        for share in np.arange(1, ROWS_A_FILE + 1) / ROWS_A_FILE:
            time_of_row = due - FILE_SECONDS * (1 - share)
            if time_of_row <= last_turn(turn, pacing.seconds):
                found.append(_left(steps, float(time_of_row)) - due)
    return found


def _left(steps: Sequence[Step], second: float) -> float:
    return next(step.ended for step in steps if step.frontier is not None and step.frontier >= second - 1e-3)


def _turns(turn: float, seconds: float) -> list[float]:
    # Rows have microseconds: a sum of turns that is a little more than its row's time would never be reached.
    return [round(float(due), 6) for due in np.arange(turn, seconds + 1e-9, turn)]


def last_turn(turn: float, seconds: float) -> float:
    """The time of the last row of the slower stream: all that wait have left once the frontier is there."""
    return _turns(turn, seconds)[-1]


def _is_past(moment: float) -> bool:
    return time.time() >= moment


def _feed(files: list[tuple[float, Path]], inputs: Path, queries: Sequence[Run]) -> float:
    """Link every file when it is due; the wall clock's time at second 0."""
    began = time.time() + 0.5
    for due, path in files:
        _wait_until(queries, partial(_is_past, began + due))
        os.link(path, inputs / path.parent.name / path.name)
    return began


def _wait_until(queries: Sequence[Run], condition: Callable[[], bool], latest: float = math.inf) -> None:
    while not condition():
        if time.monotonic() > latest:
            raise RuntimeError(f"Not all rows were emitted {LIMIT_SECONDS} s after the last file.")
        for query in queries:
            if not query.isActive:
                query.awaitTermination()
                raise RuntimeError("A query ended before it was told to.")
        time.sleep(POLL_SECONDS)


def _frontier_of(query: Run) -> float:
    progress = query.lastProgress
    frontier = None if progress is None else _second(progress["order"]["frontier"])
    return -1.0 if frontier is None else frontier


def _second(text: str | None) -> float | None:
    return None if text is None else (datetime.fromisoformat(text) - FIRST).total_seconds()


def _step(progress: dict[str, Any], began: float) -> Step:
    start = datetime.fromisoformat(progress["timestamp"]).timestamp() - began
    return Step(
        start,
        start + progress["durationMs"]["trigger"] / 1000,
        _second(progress["order"]["frontier"]),
        tuple(progress["adaptations"]),
        progress["order"],
        progress["held"],
        progress["stateBytes"] / max(1, progress["stateRows"]),
    )
