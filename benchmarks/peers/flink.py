"""Flink SQL: an interval join in streaming mode, on a cluster inside one JVM, in an environment of its own.

Flink reads and writes CSV, the cheapest format that its Python package brings along; a job that only reads tells how
much of the time that is. Checkpoints are taken where a task's settings say so. What was tried and changes nothing worth
telling: mini-batches, which interval joins do not know, rarer watermarks, buffers without a timeout, lines taken apart
by SQL.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from benchmarks.answers import Answer, answer_of, connect
from benchmarks.processes import end_group

REQUIREMENTS = ("apache-flink==2.3.*",)  # for Python 3.9 to 3.12
OPTIONS = {
    "pipeline.object-reuse": "true",  # no copies of rows between operators of one task
    "state.backend.type": "hashmap",  # on the heap: the fastest where the state fits
}
CHECKPOINTS = {"execution.checkpointing.interval": "500 ms"}  # exactly once; results are out when one ends
CHECKPOINT_PLACE = "execution.checkpointing.dir"
JOB = Path(__file__).with_name("flink_job.py")
CSV_FILE = "rows.csv"
SECOND_US = 1_000_000
KINDS = {
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.string(): "string",
}


def java_options(heap: str) -> str:
    """How the JVM should run: the collector for throughput saves a third of the time that Java's default takes."""
    return f"-Xms{heap} -Xmx{heap} -XX:+UseParallelGC"


def interval_join_query(on: str, window_seconds: float, select: tuple[str, ...]) -> str:
    """The join of `r` and `s`. The interval makes it one for Flink; the exact times cut off what milliseconds add."""
    window_us = round(window_seconds * SECOND_US)
    bound = _interval(math.ceil(window_us / 1000))
    return (
        f"SELECT {', '.join(select)} FROM r JOIN s ON ({on}) "
        f"AND r.ts BETWEEN s.ts - {bound} AND s.ts + {bound} "
        f"AND r.ts_us BETWEEN s.ts_us - {window_us} AND s.ts_us + {window_us}"
    )


def with_checkpoint_place(options: dict[str, str], directory: Path) -> dict[str, str]:
    """Checkpoints, and the savepoint that ends a job, in files: in the job manager's memory, Flink's default, the state
    of a task may not exceed 5 MB."""
    return {
        **options,
        "execution.checkpointing.storage": "filesystem",
        CHECKPOINT_PLACE: directory.as_uri(),
    }


def settings_of(said: dict[str, Any]) -> dict[str, str]:
    """How a job ran, as a record keeps it: a directory of the machine that ran it is no setting."""
    kept = {name: str(value) for name, value in said["settings"].items() if name != CHECKPOINT_PLACE}
    return kept | {"version": said["version"]}


def reading_query(columns: Sequence[str]) -> str:
    """All rows of both streams, for a job that does nothing but read; a time's exact column ends in `_us`."""
    listed = ", ".join(columns)
    return f"SELECT {listed} FROM r UNION ALL SELECT {listed} FROM s"


def write_csv(
    parquet_files: Sequence[Path], directory: Path, columns: Sequence[str] | None = None, name: str = CSV_FILE
) -> int:
    """Put files together as the one CSV file that the job reads, in their order; returns the number of rows."""
    directory.mkdir(parents=True, exist_ok=True)
    tables = (_with_numeric_times(pq.read_table(file, columns=columns)) for file in parquet_files)
    first = next(tables)
    options = pacsv.WriteOptions(include_header=False)
    rows = 0
    with pacsv.CSVWriter(directory / name, first.schema, write_options=options) as writer:
        for table in (first, *tables):
            writer.write(table)
            rows += table.num_rows
    return rows


def column_kinds(schema: pa.Schema) -> list[list[str]]:
    """The columns of a stream as the job's specification has them."""
    return [[field.name, "timestamp" if pa.types.is_timestamp(field.type) else KINDS[field.type]] for field in schema]


def start_flink_job(spec: dict[str, Any], python: Path, log: Path) -> subprocess.Popen[bytes]:
    """A job in a process group of its own; whoever starts it must end the group."""
    order = log.with_suffix(".json")
    order.write_text(json.dumps(spec, indent=2))
    environment = os.environ | {"FLINK_LOG_DIR": str(log.parent), "ROOT_LOG_LEVEL": "WARN"}
    with log.open("wb") as output:
        return subprocess.Popen(
            [python, "-P", JOB, order], stdout=output, stderr=output, env=environment, start_new_session=True
        )


def run_flink_job(spec: dict[str, Any], python: Path, limit_seconds: float, log: Path) -> dict[str, Any]:
    """Run a job in processes of its own and return what it says; nothing of it is left after the limit."""
    child = start_flink_job(spec, python, log)
    try:
        code = child.wait(limit_seconds)
    except subprocess.TimeoutExpired:
        return {"error": f"did not finish in {limit_seconds:g} s"}
    finally:
        end_group(child)
    return said_in(log) or {"error": f"ended with exit code {code}; its log is {log}"}


def answer_of_job(result: dict[str, Any], output: Path, names: Sequence[str], threads: int) -> Answer:
    """The answer that a job's last repeat wrote."""
    directory = output / str(len(result["all_seconds"]) - 1)
    if not any(directory.glob("part-*")):
        return Answer(0, "0")
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in result["columns"])
    relation = f"read_csv('{directory}/part-*', header = false, auto_detect = false, columns = {{{columns}}})"
    with connect(threads, order="free") as connection:
        return answer_of(connection, relation, names)


def _interval(milliseconds: int) -> str:
    """A span of up to 99 days; of seconds alone, Flink takes no more than three digits."""
    seconds, milliseconds = divmod(milliseconds, 1000)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"INTERVAL '{days} {hours:02}:{minutes:02}:{seconds:02}.{milliseconds:03}' DAY TO SECOND(3)"


def _with_numeric_times(table: pa.Table) -> pa.Table:
    """Times as microseconds."""
    for number, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            times = table.column(number).cast(pa.timestamp("us", field.type.tz)).cast(pa.int64())
            table = table.set_column(number, f"{field.name}_us", times)
    return table


def said_in(log: Path) -> dict[str, Any] | None:
    """The job's line of JSON."""
    for line in reversed(log.read_text(errors="replace").splitlines()):
        if line.startswith("{"):
            said: dict[str, Any] = json.loads(line)
            return said
    return None
