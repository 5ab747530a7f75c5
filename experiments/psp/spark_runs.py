"""Runs on Spark: chains of streams of images, a file of each stream a batch, under any strategy."""

from __future__ import annotations

import os
import shutil
import statistics
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from benchmarks.peers.streaming import Places, open_session
from benchmarks.tasks import Task
from braid.optimizer.strategies import Strategy
from experiments.claims import Measured
from experiments.psp.engine_runs import STEPS_A_WINDOW, WINDOW_SECONDS, Chain
from experiments.psp.images import alike, with_probability

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from braid.api.join import Join

FIRST_MTIME = 1_700_000_000
# Until the windows are full, and two batches more.
WARM_UP = STEPS_A_WINDOW + 2
Ways = Mapping[str, Strategy]
Rounds = dict[str, list[Measured]]


class Runner:
    """Runs chains on one session, one after the other."""

    def __init__(self, spark: SparkSession, directory: Path) -> None:
        self._spark = spark
        self._directory = directory
        self._numbers = count()

    def in_turn(self, chain: Chain, strategies: Ways, batches: int, rounds: int) -> Rounds:
        """Every strategy once a round, another one first each time. A run before them warms up and does not count."""
        inputs = self._directory / f"input-{next(self._numbers)}"
        write_batches(chain, inputs, WARM_UP + batches)
        names = list(strategies)
        found: Rounds = {name: [] for name in names}
        try:
            self.run(chain, strategies[names[0]], inputs)
            for number in range(rounds):
                first = number * len(names) // rounds
                for name in names[first:] + names[:first]:
                    found[name].append(self.run(chain, strategies[name], inputs))
        finally:
            shutil.rmtree(inputs)
        return found

    def run(self, chain: Chain, strategy: Strategy, inputs: Path) -> Measured:
        """One run over all batches, and what it says of those that count."""
        place = self._directory / f"run-{next(self._numbers)}"
        query = self._query(chain, inputs).using(strategy)
        try:
            writer = query.writeStream.format("noop").option("checkpointLocation", str(place))
            run = writer.trigger(availableNow=True).start()
            run.awaitTermination()
            return summed_up(run.recentProgress)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _query(self, chain: Chain, inputs: Path) -> Join:
        import braid

        kind, function = "bigint", with_probability(chain.selectivity)
        if chain.image is not None:
            kind, function = "binary", alike
        streams = []
        for number in range(chain.ways):
            reader = self._spark.readStream.schema(f"ts timestamp, v {kind}").option("maxFilesPerTrigger", 1)
            frame = reader.parquet(str(inputs / f"s{number}"))
            streams.append(braid.stream(f"s{number}", frame, time="ts", window=f"{WINDOW_SECONDS} seconds"))
        join = braid.join(*streams)
        for number in range(chain.ways - 1):
            columns = f"s{number}.v", f"s{number + 1}.v"
            join = join.on(braid.udf(function, *columns, raises=False, selectivity=chain.selectivity))
        return join.select("s0.ts AS ts")


@contextmanager
def open_runner() -> Iterator[Runner]:
    """On the session that is there, or on one of its own."""
    from pyspark.sql import SparkSession

    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        there = SparkSession.getActiveSession()
        if there is not None:
            yield Runner(there, Path(directory))
            return
        spark = open_session(Task("Braid", "history", {}, 1), Places(Path(), Path(directory)))
        try:
            yield Runner(spark, Path(directory))
        finally:
            spark.stop()


def write_batches(chain: Chain, directory: Path, batches: int) -> None:
    """A file of every stream for each batch."""
    for number, tables in enumerate(chain.steps(batches)):
        for name, table in tables.items():
            path = directory / name / f"{number:05d}.parquet"
            path.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table, path)
            os.utime(path, (FIRST_MTIME + number, FIRST_MTIME + number))


def summed_up(records: list[dict[str, Any]], warm_up: int = WARM_UP) -> Measured:
    """The times of the batches that count, from the first of them to the end of the run; pairs, bytes, results of all.

    With rounds of several steps in one job, a step without input may follow the last batch.
    """
    first = next(n for n, record in enumerate(records) if record["sparkBatchId"] == warm_up)
    counted = records[first:]
    last = counted[-1]
    elapsed = _time(last) - _time(counted[0]) + last["durationMs"]["trigger"] / 1000
    rows = sum(record["numInputRows"] for record in records)
    pairs = sum(unit["pairsCompared"] for record in records for unit in record["units"])
    return {
        "rows": sum(record["numInputRows"] for record in counted),
        "seconds": elapsed,
        "step": statistics.median(record["durationMs"]["trigger"] / 1000 for record in counted),
        "results": sum(record["numOutputRows"] for record in records),
        "copies": _mean(counted, lambda record: record["copies"]),
        "state_rows": _mean(counted, lambda record: record["stateRows"]),
        "moved_bytes_a_row": sum(record["bytesMoved"] for record in records) / rows,
        "pairs_a_row": pairs / rows,
        "busiest_of_a_step": _mean(counted, _busiest),
    }


def _busiest(record: dict[str, Any]) -> float:
    """The share of a step's pairs that the slot with the most of them compared."""
    pairs: Counter[int] = Counter()
    for unit in record["units"]:
        pairs[unit["slot"]] += unit["pairsCompared"]
    return max(pairs.values(), default=0) / max(1, pairs.total())


def _mean(records: list[dict[str, Any]], what: Callable[[dict[str, Any]], float]) -> float:
    return statistics.fmean(what(record) for record in records if record["numInputRows"])


def _time(record: dict[str, Any]) -> float:
    return datetime.fromisoformat(record["timestamp"]).timestamp()
