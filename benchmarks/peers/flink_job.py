"""A Flink SQL job over CSV files: `python -P flink_job.py SPEC.json`, run by the Python of Flink's environment.

Prints one line of JSON: what it took and what came out, or `{"error": …}` with exit code 1. A time is what Flink says
the job itself ran, without the start of the JVM, of the cluster inside it, and the planning. With `repeats` the query
runs again in the same JVM: the first job pays for compilers that have not seen its code yet, the last one is told.

The files hold times as microseconds, which are cheaper to parse than text. Flink's event time has milliseconds: a
timestamp `ts` is a column of that precision, computed from the exact one, `ts_us`. Each stream is one file in the order
of event time: of several, Flink's readers take whichever they like, and rows of an earlier file would be late. A stream
with `monitor` is a directory, in which files may appear; its job runs until the file `until` does.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

Spec = dict[str, Any]

# As little as Flink can say, so that a row is not late when others of its millisecond came before it.
WATERMARK_DELAY = "INTERVAL '0.001' SECOND"
MESSAGE_LETTERS = 300
# What a printed Java exception has besides messages.
NO_MESSAGE = ("at ", "... ", "An error occurred while calling")


class Refused(Exception):
    """Input that would give a wrong answer."""


def main(spec: Spec) -> dict[str, Any]:
    """Run the job and describe it."""
    began = time.perf_counter()
    java_options = spec.get("java_options", "")
    options = {"execution.runtime-mode": "STREAMING", "parallelism.default": str(spec["parallelism"])}
    options |= {"table.local-time-zone": "UTC", **spec.get("options", {})}
    tables = _table_environment(options, java_options)
    for stream in spec["streams"]:
        tables.execute_sql(_create_statement(stream))
    query = tables.sql_query(spec["query"])
    startup_seconds = time.perf_counter() - began
    if "until" in spec:
        seconds = [_run_until(query, _sink(spec, 0), Path(spec["until"]), spec["savepoints"])]
    else:
        seconds = [_run(query, _sink(spec, repeat)) for repeat in range(spec.get("repeats", 1))]
    return {
        "seconds": seconds[-1],
        "all_seconds": seconds,
        "startup_seconds": round(startup_seconds, 3),
        "columns": _columns(query),
        "settings": {
            **options,
            "java_options": java_options,
            "checkpoints": options.get("execution.checkpointing.interval", "none"),
            "sink": spec.get("sink", "csv"),
        },
        "version": version("apache-flink"),
    }


def end_with_parent() -> None:
    """End when the process that started this one does, however it ends; PyFlink's JVM then ends too."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _table_environment(options: dict[str, str], java_options: str) -> Any:
    os.environ["JVM_ARGS"] = java_options  # PyFlink starts its JVM with these
    from pyflink.common import Configuration
    from pyflink.table import EnvironmentSettings, TableEnvironment

    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name, value)
    return TableEnvironment.create(EnvironmentSettings.new_instance().with_configuration(configuration).build())


def _create_statement(stream: dict[str, Any]) -> str:
    """The table of a stream, with its event time and watermark."""
    files = list(Path(stream["directory"]).iterdir())
    if "monitor" in stream:
        files = [Path(stream["directory"])]
    elif len(files) != 1:
        raise Refused(f"{stream['directory']} has {len(files)} files. One keeps the rows in order: put them together.")
    event_time = stream.get("time", "ts")
    columns = [definition for name, kind in stream["columns"] for definition in _column(name, kind)]
    columns.append(f"WATERMARK FOR `{event_time}` AS `{event_time}` - {WATERMARK_DELAY}")
    options = {"connector": "filesystem", "path": str(files[0]), "format": "csv"}
    if "monitor" in stream:
        options["source.monitor-interval"] = stream["monitor"]
    described = ", ".join(f"'{name}' = '{value}'" for name, value in options.items())
    return f"CREATE TABLE `{stream['name']}` ({', '.join(columns)}) WITH ({described})"


def _column(name: str, kind: str) -> list[str]:
    if kind != "timestamp":
        return [f"`{name}` {kind.upper()}"]
    return [f"`{name}_us` BIGINT", f"`{name}` AS TO_TIMESTAMP_LTZ(`{name}_us` / 1000, 3)"]


def _sink(spec: Spec, repeat: int) -> Any:
    """Where the rows go: files that can be counted, or nowhere, to see what writing them costs."""
    from pyflink.table import TableDescriptor

    if spec.get("sink", "csv") == "blackhole":
        return TableDescriptor.for_connector("blackhole").build()
    output = Path(spec["output"]) / str(repeat)
    return TableDescriptor.for_connector("filesystem").option("path", str(output)).format("csv").build()


def _run(query: Any, sink: Any) -> float:
    """The seconds of one job, from its initialisation to its end."""
    result = query.execute_insert(sink).get_job_client().get_job_execution_result().result()
    return float(result.get_net_runtime() / 1000)


def _run_until(query: Any, sink: Any, until: Path, savepoints: str) -> float:
    """The seconds of a job that has no end of its own: it stops with a savepoint, which commits its files."""
    from pyflink.common import JobStatus
    from pyflink.java_gateway import get_gateway

    began = time.perf_counter()
    client = query.execute_insert(sink).get_job_client()
    while not until.exists():
        if client.get_job_status().result() in (JobStatus.FAILED, JobStatus.FINISHED, JobStatus.CANCELED):
            client.get_job_execution_result().result()
            raise Refused("the job ended by itself")
        time.sleep(0.1)
    kind = get_gateway().jvm.org.apache.flink.core.execution.SavepointFormatType.NATIVE
    client._j_job_client.stopWithSavepoint(False, savepoints, kind).get()
    return time.perf_counter() - began


def _columns(query: Any) -> list[list[str]]:
    """The names and types of the rows that come out."""
    schema = query.get_resolved_schema()
    names, kinds = schema.get_column_names(), schema.get_column_data_types()
    return [[name, str(kind)] for name, kind in zip(names, kinds, strict=True)]


def _message(failure: Exception) -> str:
    """What Flink says first and, of a chain of causes, last; without its stack traces."""
    lines = [line.strip(" :\t") for line in str(failure).splitlines()]
    said = [line for line in lines if line and not line.startswith(NO_MESSAGE)] or [type(failure).__name__]
    causes = [line for line in said[1:] if line.startswith("Caused by: ")]
    if causes and causes[-1].rpartition("Exception: ")[2] in said[0]:
        return said[0][:MESSAGE_LETTERS]
    return " ".join(line[:MESSAGE_LETTERS] for line in (said[0], *causes[-1:]))


if __name__ == "__main__":
    end_with_parent()
    try:
        print(json.dumps(main(json.loads(Path(sys.argv[1]).read_text()))))
    except Exception as failure:  # whatever the system raises is the result of the task
        print(failure, file=sys.stderr)
        print(json.dumps({"error": _message(failure)}))
        sys.exit(1)
