"""Pathway's interval join over files: `python pathway_job.py SPEC.json`, run by the Python of Pathway's environment.

Prints one line of JSON: what it took and what came out, or `{"error": …}` with exit code 1. With `"forget": false` in
the specification Pathway keeps every row, which is faster while the memory lasts. With `"until"` files may appear while
it runs.

One connector hands Pathway both streams, the next file of each side by side, so that they stay in step and old rows can
be forgotten without losing a pair. Rows travel as arrays, one for each column, and Pathway's engine takes them apart:
a call of Python for each row costs half as much as the join. Nothing is sent anywhere: Pathway reports only with a
license key or to a monitoring server it is told of, and has neither.
"""

from __future__ import annotations

import json
import operator
import os
import resource
import sys
import time
from collections.abc import Iterator
from importlib.metadata import version
from itertools import zip_longest
from pathlib import Path
from types import GenericAlias
from typing import Any

BEGAN = time.perf_counter()
# Modules beside this script are named for the systems they run, and must not hide them.
sys.path[:] = [path for path in sys.path if Path(path).resolve() != Path(__file__).resolve().parent]

import numpy as np  # noqa: E402 (after the path is set)
import pathway as pw  # noqa: E402 (after the path is set)
import pyarrow as pa  # noqa: E402 (after the path is set)
import pyarrow.compute as pc  # noqa: E402 (after the path is set)
import pyarrow.csv  # noqa: E402 (after the path is set)
import pyarrow.parquet  # noqa: E402 (after the path is set)

Spec = dict[str, Any]
Columns = dict[str, Any]  # arrays of numbers, lists of text

SECOND_US = 1_000_000
MEMORY_BYTES = 12 * 2**30  # of address space: a join without keys may ask for more than there is
COMMIT_ROWS = 50_000  # of the longer stream, in one commit
KEYLESS_COMMIT_ROWS = 20  # each row meets the whole window, and the pairs of a commit are in memory at once
CHUNKS_PER_COMMIT = 10  # so that each worker gets some
BACKLOG_COMMITS = 2  # handed over and not yet joined
POLL_SECONDS = 0.005  # until the next file is there
SLACK_SECONDS = 1.0  # how far the newest rows of the streams may lie apart after a commit
INTEGERS = ("int", "bigint")
FLOATS = ("float", "double")
TEXTS = ("string", "varchar")
COMPARISONS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
INTEGER_ARRAY, FLOAT_ARRAY = (GenericAlias(np.ndarray, (tuple[int], kind)) for kind in (int, float))
TYPES: dict[str, Any] = (
    dict.fromkeys((*INTEGERS, "timestamp"), INTEGER_ARRAY)
    | dict.fromkeys(FLOATS, FLOAT_ARRAY)
    | dict.fromkeys(TEXTS, list[str])
)


class Refused(Exception):
    """A join that Pathway, or this job, does not do."""


def main(spec: Spec) -> dict[str, Any]:
    """Run the join and describe it."""
    _check(spec)
    resource.setrlimit(resource.RLIMIT_AS, (spec.get("memory_bytes", MEMORY_BYTES),) * 2)
    os.environ["PATHWAY_THREADS"] = str(spec["threads"])
    pw.set_license_key(None)
    pw.set_monitoring_config(server_endpoint=None)
    pw.io.csv.write(_joined(spec, _streams(spec)), spec["output"])
    started = time.perf_counter()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    ended = time.perf_counter()
    return {
        "seconds": ended - started,
        "startup_seconds": started - BEGAN,
        **_counted(spec),
        "settings": _settings(spec),
        "version": version("pathway"),
    }


def _check(spec: Spec) -> None:
    if len(spec["streams"]) != 2:
        raise Refused(f"an interval join has 2 streams, not {len(spec['streams'])}")
    if spec["window_seconds"] is None:
        raise Refused("an interval join has a window")
    unknown = {kind for stream in spec["streams"] for kind in _needed(spec, stream).values()} - TYPES.keys()
    if unknown:
        raise Refused(f"columns of these types are not handed over: {', '.join(sorted(unknown))}")


def _streams(spec: Spec) -> list[Any]:
    """Both streams as tables, out of one connector."""
    needed = [_needed(spec, stream) for stream in spec["streams"]]
    types = {_row(number): INTEGER_ARRAY for number in range(len(needed))}
    for number, columns in enumerate(needed):
        types |= {_name(number, column): TYPES[kind] for column, kind in columns.items()}
    schema = pw.schema_from_types(**types)

    class Batches(pw.io.python.ConnectorSubject):  # type: ignore[misc]  # Pathway is installed in its own environment only
        def run(self) -> None:
            for files in _batches(spec):
                batch = [_read(own, columns) for own, columns in zip(files, needed, strict=True)]
                for commit in _pieces(batch, _commits(spec, batch)):
                    for chunk in _pieces(commit, CHUNKS_PER_COMMIT):
                        self.next(**_chunk(chunk))
                    self.commit()

    backlog = BACKLOG_COMMITS * CHUNKS_PER_COMMIT
    chunks = pw.io.python.read(Batches(), schema=schema, autocommit_duration_ms=None, max_backlog_size=backlog)
    return [_rows(chunks, number, columns) for number, columns in enumerate(needed)]


def _batches(spec: Spec) -> Iterator[list[list[str]]]:
    """The files of each stream that are read next: the first so many `together`, then one of each.

    With `until` they are read as soon as they are there, and no more once that file is.
    """
    together = spec.get("together", 1)
    listed = [stream["files"] for stream in spec["streams"]]
    files = [[names[:together], *([name] for name in names[together:])] for names in listed]
    for batch in zip_longest(*files, fillvalue=()):
        if "until" in spec and not _appear([file for own in batch for file in own], spec["until"]):
            return
        yield [list(own) for own in batch]


def _appear(files: list[str], until: str) -> bool:
    """Wait for files; whether they were there before the one that ends the job."""
    while not os.path.exists(until):
        if all(os.path.exists(file) for file in files):
            return True
        time.sleep(POLL_SECONDS)
    return False


def _needed(spec: Spec, stream: dict[str, Any]) -> dict[str, str]:
    """The columns of a stream that the join or its result uses, with their types."""
    compared = [one["column"] for one in spec["differences"]]
    selected = [column for name, column, _ in spec["select"] if name == stream["name"]]
    used = {_time_column(stream), *spec["keys"], *compared, *selected}
    return {column: kind for column, kind in stream["columns"] if column in used}


def _time_column(stream: dict[str, Any]) -> str:
    for column, kind in stream["columns"]:
        if kind == "timestamp":
            return str(column)
    raise Refused(f"stream {stream['name']} has no timestamp")


def _row(number: int) -> str:
    return f"row_{number}"


def _name(number: int, column: str) -> str:
    """A column's name inside Pathway, where a table's `id` is something else."""
    return f"column_{number}_{column}"


def _read(files: list[str], columns: dict[str, str]) -> Columns:
    """The columns of some files, times in microseconds; empty ones where a stream has no further file."""
    if not files:
        return {column: _values(pa.chunked_array([[]], pa.null()), kind) for column, kind in columns.items()}
    table = pa.concat_tables([_table(file, columns) for file in files])
    return {column: _values(table[column], kind) for column, kind in columns.items()}


def _table(file: str, columns: dict[str, str]) -> Any:
    if file.endswith(".parquet"):
        return pyarrow.parquet.read_table(file, columns=list(columns))
    texts = {column: pa.string() for column, kind in columns.items() if kind in TEXTS}
    options = pyarrow.csv.ConvertOptions(include_columns=list(columns), column_types=texts)
    return pyarrow.csv.read_csv(file, convert_options=options)


def _values(column: Any, kind: str) -> Any:
    if kind in TEXTS:
        return column.to_pylist()
    if kind == "timestamp" and pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz))
    return column.cast(pa.float64() if kind in FLOATS else pa.int64()).to_numpy()


def _length(columns: Columns) -> int:
    return len(next(iter(columns.values())))


def _commits(spec: Spec, batch: list[Columns]) -> int:
    rows = COMMIT_ROWS if spec["keys"] else KEYLESS_COMMIT_ROWS
    return -(-max(map(_length, batch)) // rows)


def _pieces(batch: list[Columns], pieces: int) -> Iterator[list[Columns]]:
    """A batch in pieces, each with the same share of every stream."""
    for piece in range(pieces):
        parts = [slice(rows * piece // pieces, rows * (piece + 1) // pieces) for rows in map(_length, batch)]
        yield [
            {name: values[part] for name, values in columns.items()} for columns, part in zip(batch, parts, strict=True)
        ]


def _chunk(piece: list[Columns]) -> Columns:
    """What one call hands over: the columns of all streams, and row numbers to take them apart by."""
    chunk: Columns = {}
    for number, columns in enumerate(piece):
        chunk[_row(number)] = np.arange(_length(columns))
        chunk |= {_name(number, column): values for column, values in columns.items()}
    return chunk


def _rows(chunks: Any, number: int, columns: dict[str, str]) -> Any:
    """The rows of one stream, taken out of the chunks' arrays by the engine."""
    row, names = _row(number), [_name(number, column) for column in columns]
    rows = chunks.select(**{name: chunks[name] for name in (row, *names)}).flatten(pw.this[row])
    return rows.select(**{name: rows[name][rows[row]] for name in names})


def _joined(spec: Spec, tables: list[Any]) -> Any:
    """The selected columns of the pairs."""
    columns = {
        (stream["name"], column): tables[number][_name(number, column)]
        for number, stream in enumerate(spec["streams"])
        for column in _needed(spec, stream)
    }
    left, right = (stream["name"] for stream in spec["streams"])
    times = [columns[stream["name"], _time_column(stream)] for stream in spec["streams"]]
    window = round(spec["window_seconds"] * SECOND_US)
    equal = [columns[left, key] == columns[right, key] for key in spec["keys"]]
    interval = pw.temporal.interval(-window, window)
    pairs = tables[0].interval_join(tables[1], *times, interval, *equal, **_behavior(spec))
    selected = {alias: columns[name, column] for name, column, alias in spec["select"]}
    conditions = spec["differences"]
    apart = {f"_{one['column']}": columns[left, one["column"]] - columns[right, one["column"]] for one in conditions}
    near = pairs.select(**selected, **apart)
    for one in conditions:
        near = near.filter(COMPARISONS[one["comparison"]](near[f"_{one['column']}"], one["bound"]))
    return near.without(*apart)


def _behavior(spec: Spec) -> dict[str, Any]:
    """Forget rows that no coming row can meet; the results stay."""
    if not _forgets(spec):
        return {}
    cutoff = round((spec["window_seconds"] + SLACK_SECONDS) * SECOND_US)
    return {"behavior": pw.temporal.common_behavior(cutoff=cutoff)}


def _forgets(spec: Spec) -> bool:
    return bool(spec.get("forget", True))


def _counted(spec: Spec) -> dict[str, Any]:
    """The number of rows in the output and the sum of each integer column; a row taken back counts as minus one."""
    kinds = {(stream["name"], column): kind for stream in spec["streams"] for column, kind in stream["columns"]}
    integers = [alias for name, column, alias in spec["select"] if kinds[name, column] in INTEGERS]
    sums = dict.fromkeys((*integers, "diff"), 0)
    if os.path.getsize(spec["output"]) == 0:  # without rows Pathway writes no header either
        return {"rows_out": 0, "checksum": dict.fromkeys(integers, 0)}
    types = dict.fromkeys(sums, pa.int64())
    options = pyarrow.csv.ConvertOptions(include_columns=list(sums), column_types=types)
    with pyarrow.csv.open_csv(spec["output"], convert_options=options) as batches:
        for batch in batches:
            sums["diff"] += pc.sum(batch["diff"], min_count=0).as_py()
            for alias in integers:
                sums[alias] += pc.sum(pc.multiply(batch[alias], batch["diff"]), min_count=0).as_py()
    return {"rows_out": sums.pop("diff"), "checksum": sums}


def _settings(spec: Spec) -> dict[str, str]:
    return {
        "join": "interval_join, then a filter" if spec["differences"] else "interval_join",
        "threads": str(spec["threads"]),
        "input": "Python connector, columns as arrays",
        "commits": f"each batch, cut at {COMMIT_ROWS if spec['keys'] else KEYLESS_COMMIT_ROWS:,} rows of a stream",
        "backlog": f"{BACKLOG_COMMITS} commits",
        "rows_forgotten_after": f"{spec['window_seconds'] + SLACK_SECONDS:g} s" if _forgets(spec) else "never",
        "output": "csv",
    }


if __name__ == "__main__":
    try:
        print(json.dumps(main(json.loads(Path(sys.argv[1]).read_text()))))
    except Exception as failure:  # whatever the system raises is the result of the task
        print(json.dumps({"error": f"{type(failure).__name__}: {failure}".splitlines()[0][:300]}))
        sys.exit(1)
