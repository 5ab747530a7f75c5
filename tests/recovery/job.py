"""A child program: runs Braid queries in a process of its own, and kills that process at a given point.

    python -m tests.recovery.job SPEC.json

The spec holds `jobs` (see `Job`), the Spark `master`, and optionally a `kill`: the pattern of a point, which of its
occurrences, and whether the JVM is left to notice by itself. Points are `before` or `after` an operation of the
driver on files, on tasks or on a step, for example `before write_new */manifests/*` or `during probe`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tests.session import start_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import braid

SCHEMA = "id bigint, ts timestamp, k int, v bigint"
WATCHED = ("read", "write_new", "rename", "exists", "list", "delete", "delete_tree", "make_directory")
SMALL = {"spark.driver.memory": "700m"}  # several of them run at once
MARKER, MISCHIEF = "BRAID_TEST_MARKER", "BRAID_TEST_MISCHIEF"


@dataclass(frozen=True)
class Job:
    """One query: which streams of the input, joined how, written where.

    With a `stop_file` it runs until that file exists, otherwise until the input is read. `scheme` is put before paths.
    """

    streams: str
    on: list[str]
    input: str
    place: str
    strategy: str = "Auto"
    strategy_settings: dict[str, Any] = field(default_factory=dict)
    mischief: bool = False
    scheme: str = ""
    stop_file: str = ""
    exchange: str = "auto"

    @property
    def output(self) -> str:
        return f"{self.place}/output"

    @property
    def checkpoint(self) -> str:
        return f"{self.place}/checkpoint"


@dataclass(frozen=True)
class Kill:
    """Die at the `count`-th point that matches the pattern; `alone`: the JVM is not killed along."""

    pattern: str
    count: int = 1
    alone: bool = False


class Tripwire:
    """Counts the points that match, and kills the process at the last."""

    def __init__(self, kill: Kill) -> None:
        self._kill = kill
        self._left = kill.count
        self._lock = threading.Lock()

    def pass_by(self, point: str) -> bool:
        """Whether this is the point to die at."""
        with self._lock:
            self._left -= fnmatch.fnmatch(point, self._kill.pattern)
            return self._left == 0

    def die(self) -> None:
        if self._kill.alone:
            os.kill(os.getpid(), signal.SIGKILL)
        os.killpg(os.getpgid(0), signal.SIGKILL)

    def around(self, name: str, function: Callable[..., Any], describe: Callable[..., str]) -> Callable[..., Any]:
        """The function with a point before, during and after it."""

        @wraps(function)
        def watched(*arguments: Any, **named: Any) -> Any:
            what = describe(*arguments)
            if self.pass_by(f"before {name} {what}".rstrip()):
                self.die()
            if self.pass_by(f"during {name} {what}".rstrip()):
                threading.Timer(0.1, self.die).start()
            result = function(*arguments, **named)
            if self.pass_by(f"after {name} {what}".rstrip()):
                self.die()
            return result

        return watched


def main(spec_file: str) -> None:
    spec = json.loads(Path(spec_file).read_text())
    if spec.get("kill"):
        lay_wire(Tripwire(Kill(**spec["kill"])))
    spark = start_session(spec["scratch"], spec["master"], SMALL)
    jobs = [Job(**job) for job in spec["jobs"]]
    runs = [start_or_end(spark, job) for job in jobs]
    ended = [run if isinstance(run, str) else how_it_ended(run, job) for run, job in zip(runs, jobs, strict=True)]
    print(json.dumps({"done": [run.lastProgress for run in runs if not isinstance(run, str)]}))
    print(f"ended: {json.dumps(ended)}", flush=True)
    spark.stop()


def start_or_end(spark: SparkSession, job: Job) -> Any:
    """The run, or how it ended where it was taken over before it had started."""
    from braid.errors import TakenOverError

    try:
        return start(spark, job)
    except TakenOverError as error:
        return str(error)


def how_it_ended(run: Any, job: Job) -> str:
    """A run may be taken over by one of another process; any other error is raised."""
    from braid.errors import TakenOverError

    try:
        while job.stop_file and not Path(job.stop_file).exists() and not run.awaitTermination(0.1):
            pass
        if job.stop_file:
            run.stop()
        run.awaitTermination()
    except TakenOverError as error:
        return str(error)
    return "finished"


def lay_wire(wire: Tripwire) -> None:
    """Watch everything the driver does to files, and the phases of a step."""
    from braid.engine.step import StepRunner
    from braid.spark.cluster import SparkCluster
    from braid.state.files import LocalFiles

    for name in WATCHED:
        setattr(LocalFiles, name, wire.around(name, getattr(LocalFiles, name), lambda _, path, *rest: str(path)))
    os.link = wire.around("link", os.link, lambda source, target: str(target))
    for phase, name in (("ingest", "ingest"), ("probe", "run")):
        setattr(SparkCluster, name, wire.around(phase, getattr(SparkCluster, name), lambda *_: ""))
    StepRunner.run = wire.around("step", StepRunner.run, lambda *_: "")


def build(spark: SparkSession, job: Job) -> braid.Join:
    """The query of a job."""
    return join(spark, job).select(*(f"{name}.id AS {name}" for name in job.streams), "result_time")


def join(spark: SparkSession, job: Job) -> braid.Join:
    """The join of a job, with nothing selected: file sources, one file of each stream a batch."""
    import braid

    def source(name: str) -> Any:
        reader = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.parquet(f"{job.input}/{name}")

    streams = [braid.stream(n, source(n), time="ts", window="15 seconds", lateness="5 seconds") for n in job.streams]
    query = braid.join(*streams)
    for predicate in job.on:
        query = query.on(predicate)
    if job.mischief:
        query = query.on(braid.udf(mischief, f"{job.streams[0]}.v", f"{job.streams[1]}.v"))
    return query.using(getattr(braid, job.strategy)(**job.strategy_settings))


def start(spark: SparkSession, job: Job) -> Any:
    writer = build(spark, job).writeStream.format("parquet")
    writer = writer if job.stop_file else writer.trigger(availableNow=True)
    places = {"path": f"{job.scheme}{job.output}", "checkpointLocation": f"{job.scheme}{job.checkpoint}"}
    return writer.options(**places).option("exchange", job.exchange).start()


def mischief(left: pa.Array, right: pa.Array) -> np.ndarray:
    """True for every pair; the first worker to come here without a marker does what the environment says."""
    marker = os.environ.get(MARKER)
    if marker is not None and _create(marker):
        if os.environ[MISCHIEF] == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(float(os.environ[MISCHIEF]))
    return np.ones(len(left), bool)


def _create(marker: str) -> bool:
    """Whether this process is the first here; the marker says which one that is."""
    try:
        with open(marker, "x") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


if __name__ == "__main__":
    main(sys.argv[1])
