"""What the crash tests share: inputs, the right answer by brute force, child processes, and a reader's checks."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from tests.recovery.job import Job, Kill
from tests.session import TESTS

WINDOW_S, LATENESS_S, FILE_S = 15, 5, 10
TYPES = pa.schema(
    [("id", pa.int64()), ("ts", pa.timestamp("us", "UTC")), ("k", pa.int32()), ("v", pa.int64())],
)
BAND = ["abs(a.v - b.v) <= 4"]
KEYED = ["a.k = b.k", "a.v < b.v"]
JVM_CHAIN = ["a.k = b.k", "b.k = c.k", "bit_count(a.v ^ c.v) < 4"]


@dataclass(frozen=True)
class Inputs:
    """The rows of each stream, with the file (so the batch) each one arrives in."""

    place: Path
    streams: dict[str, pd.DataFrame]

    def on_time(self, name: str) -> pd.DataFrame:
        return self.streams[name][~self._late(name)]

    def late(self, name: str) -> set[int]:
        return set(self.streams[name][self._late(name)]["id"])

    def _late(self, name: str) -> pd.Series:
        """Rows behind the newest one of earlier files by more than the lateness."""
        rows = self.streams[name]
        newest = rows.groupby("file")["second"].max().cummax().shift(1, fill_value=-np.inf)
        return rows["second"] < rows["file"].map(newest) - LATENESS_S


def make_inputs(place: Path, seed: int, files: int, rows: int) -> Inputs:
    """Three streams, one Parquet file a batch; files overlap by less than the lateness, save for a few late rows."""
    random = np.random.default_rng(seed)
    streams = {}
    for number, name in enumerate("abc"):
        file = np.repeat(np.arange(files), rows)
        second = file * FILE_S + random.uniform(-LATENESS_S * 0.9, FILE_S, files * rows).round(3)
        second[-2:] = 1.0
        # A time at the end of each file's span makes the watermark, and so the expiry, move evenly.
        second[::rows] = (file[::rows] + 1) * FILE_S - 0.001
        frame = pd.DataFrame(
            {
                "id": np.arange(files * rows) + number * 1_000_000,
                "second": second.clip(0),
                "k": random.integers(0, 12, files * rows),
                "v": random.integers(0, 100, files * rows),
                "file": file,
            }
        )
        streams[name] = frame
        for one, part in frame.groupby("file"):
            write_file(place / name / f"{one:05d}.parquet", part, int(one))
    return Inputs(place, streams)


def write_file(path: Path, rows: pd.DataFrame, order: int) -> None:
    """Spark takes the oldest file first, so its age is set; it appears whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    times = pa.array((rows["second"] * 1_000_000).round().astype("int64")).cast(TYPES.field("ts").type)
    columns = [pa.array(rows["id"]), times, pa.array(rows["k"], pa.int32()), pa.array(rows["v"], pa.int64())]
    hidden = path.with_name(f".{path.name}")
    pq.write_table(pa.table(columns, schema=TYPES), hidden)
    os.utime(hidden, (1_600_000_000 + order, 1_600_000_000 + order))
    hidden.rename(path)


def feed(inputs: Inputs, source: Path, files: range) -> None:
    """Let files appear in the source; their ages go along."""
    for name in "ab":
        (source / name).mkdir(parents=True, exist_ok=True)
        for number in files:
            file = f"{number:05d}.parquet"
            shutil.copy2(inputs.place / name / file, source / name / f".{file}")
            (source / name / f".{file}").rename(source / name / file)


def expected(inputs: Inputs, job: Job) -> set[tuple[int, ...]]:
    """The ids of every result, by brute force over the rows that are on time."""
    sides = {name: inputs.on_time(name).add_suffix(f"_{name}") for name in job.streams}
    keyed = "a.k = b.k" in job.on
    pairs = sides["a"].merge(sides["b"], left_on="k_a", right_on="k_b") if keyed else _cross(sides)
    if "c" in job.streams:
        pairs = pairs.merge(sides["c"], left_on="k_b", right_on="k_c")
        pairs = pairs[[int(value).bit_count() < 4 for value in pairs["v_a"] ^ pairs["v_c"]]]
    if job.on == BAND:
        pairs = pairs[(pairs["v_a"] - pairs["v_b"]).abs() <= 4]
    if job.on == KEYED:
        pairs = pairs[pairs["v_a"] < pairs["v_b"]]
    times = pairs[[f"second_{name}" for name in job.streams]]
    pairs = pairs[(times.max(axis=1) - times.min(axis=1)).round(6) <= WINDOW_S]
    return set(pairs[[f"id_{name}" for name in job.streams]].itertuples(index=False, name=None))


def _cross(sides: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return sides["a"].merge(sides["b"], how="cross")


def read_results(job: Job) -> list[tuple[int, ...]]:
    """What a reader of the output directory sees now."""
    files = sorted(path for path in Path(job.output).glob("*.parquet") if not path.name.startswith((".", "_")))
    tables = [pq.read_table(path) for path in files]
    return [row for table in tables for row in zip(*(table[n].to_pylist() for n in job.streams), strict=True)]


def read_late(job: Job) -> list[int]:
    files = sorted(Path(job.checkpoint).glob("late/*/*.parquet"))
    return [row["id"] for path in files for row in pq.read_table(path)["row"].to_pylist()]


class Reader:
    """Looks at an output again and again: never a duplicate, never a row that was there and is gone."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._seen: set[tuple[int, ...]] = set()

    def look(self) -> None:
        rows = read_results(self._job)
        assert len(rows) == len(set(rows)), f"{self._job.place}: a reader saw {len(rows) - len(set(rows))} rows twice"
        gone = self._seen - set(rows)
        assert not gone, f"{self._job.place}: {len(gone)} rows that a reader had seen are gone"
        self._seen = set(rows)


def check_answer(inputs: Inputs, job: Job) -> None:
    """The output holds each result once, and the side table each late row once."""
    rows = read_results(job)
    right = expected(inputs, job)
    assert len(rows) == len(set(rows)), f"{job.place}: {len(rows) - len(set(rows))} duplicates"
    assert set(rows) == right, f"{job.place}: missing {len(right - set(rows))}, wrong {len(set(rows) - right)}"
    late = read_late(job)
    assert sorted(late) == sorted(set().union(*(inputs.late(name) for name in job.streams))), job.place


class Child:
    """A process that runs jobs; in a process group of its own, so that its JVM can be killed with it."""

    def __init__(
        self,
        jobs: list[Job],
        scratch: Path,
        kill: Kill | None = None,
        master: str = "local[2]",
        environment: dict[str, str] | None = None,
    ) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        spec = {
            "jobs": [asdict(job) for job in jobs],
            "master": master,
            "scratch": str(scratch),
            "kill": None if kill is None else asdict(kill),
        }
        (scratch / "spec.json").write_text(json.dumps(spec))
        self._log = scratch / "log.txt"
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.recovery.job", str(scratch / "spec.json")],
                cwd=TESTS.parent,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, **(environment or {})},
            )

    def wait(self, seconds: float = 120, meanwhile: Callable[[], None] = lambda: None) -> int:
        """The exit code: 0, or minus the signal that killed it."""
        waited = 0.0
        while waited < seconds:
            with suppress(subprocess.TimeoutExpired):
                return self.process.wait(0.2)
            waited += 0.2
            meanwhile()
        self.kill()
        raise AssertionError(f"the child did not end in {seconds} s\n{self.log()}")

    def kill(self) -> None:
        """SIGKILL the process and its JVM."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def log(self) -> str:
        return self.whole_log()[-4000:]

    def whole_log(self) -> str:
        return self._log.read_text()
