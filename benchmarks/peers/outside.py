"""Systems that live in environments of their own, which are made the first time they are asked for."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.answers import Answer, answer_of, connect
from benchmarks.environments import peer_python
from benchmarks.peers import flink, pathway
from benchmarks.peers.flink_paced import EMITTED, run_flink_paced
from benchmarks.peers.pathway_paced import run_pathway_paced
from benchmarks.peers.streaming import Announce, Places
from benchmarks.tasks import Measurement, Task
from benchmarks.workloads.workload import Feed, batch_files, row_counts

ENVIRONMENTS = Path(__file__).parents[2] / ".bench" / "environments"


def run_flink(task: Task, places: Places, announce: Announce) -> Measurement:
    """Flink's interval join over the batches, as one bounded input."""
    python = peer_python("flink", flink.REQUIREMENTS, ENVIRONMENTS)
    workload = task.workload
    assert workload.window_seconds is not None
    paced = task.mode == "paced"
    select = (*workload.select, f"CAST(CURRENT_TIMESTAMP AS STRING) AS {EMITTED}") if paced else workload.select
    spec = {
        "streams": [_flink_stream(task, places, feed) for feed in workload.feeds],
        "query": flink.interval_join_query(workload.on, workload.window_seconds, select),
        "parallelism": task.cores,
        "options": flink.with_checkpoint_place({**flink.OPTIONS, **task.settings}, places.checkpoint),
        "java_options": flink.java_options(task.driver_memory),
        "output": str(places.output),
        "repeats": task.repeats,
    }
    if paced:
        return run_flink_paced(task, spec, python, places, announce)
    rows = 0
    for feed in workload.feeds:
        files = [Path(file) for file in batch_files(places.data, feed.name, task.batches)]
        rows += flink.write_csv(files, places.inputs / feed.name, workload.live_columns(feed))
    said = flink.run_flink_job(spec, python, task.limit_seconds, places.scratch / "flink.log")
    if "error" in said:
        return Measurement(error=str(said["error"]))
    answer = flink.answer_of_job(said, places.output, workload.output_names, task.cores)
    seconds = tuple(said["all_seconds"])
    settings = flink.settings_of(said)
    return Measurement(
        seconds, (rows,) * len(seconds), answer, task.batches, settings=settings, details={"at_once": True}
    )


def _flink_stream(task: Task, places: Places, feed: Feed) -> dict[str, Any]:
    live = task.workload.live_columns(feed)
    columns = [one for one in flink.column_kinds(feed.schema) if one[0] in live]
    return {"name": feed.name, "columns": columns, "directory": str(places.inputs / feed.name)}


def run_pathway(task: Task, places: Places, announce: Announce) -> Measurement:
    """Pathway's interval join over the same files."""
    python = peer_python("pathway", pathway.REQUIREMENTS, ENVIRONMENTS)
    workload = task.workload
    files = {feed.name: batch_files(places.data, feed.name, task.batches) for feed in workload.feeds}
    kinds = {feed.name: dict(flink.column_kinds(feed.schema)) for feed in workload.feeds}
    output = places.scratch / "pathway.csv"
    spec = {
        "streams": [
            {"name": name, "columns": [list(one) for one in kinds[name].items()], "files": files[name]}
            for name in workload.stream_names
        ],
        "keys": list(workload.equal_columns),
        "differences": [asdict(one) for one in workload.differences],
        "window_seconds": workload.window_seconds,
        "select": [list(one) for one in workload.chosen],
        "threads": task.cores,
        "output": str(output),
    }
    if task.mode == "paced":
        said = run_pathway_paced(task, spec, python, places, announce)
    else:
        said = pathway.run_pathway_job(spec, python, task.limit_seconds, places.scratch / "pathway.log")
    if "error" in said:
        return Measurement(error=str(said["error"]))
    if task.mode == "paced" and "settings" not in said:  # it was ended while results were still missing
        return Measurement(details={"latency": said["latency"]})
    answer = _pathway_answer(task, said, output, kinds)
    settings = {name: str(value) for name, value in said["settings"].items()} | {"version": said["version"]}
    if task.mode == "paced":
        details = {"latency": said["latency"]}
        return Measurement(answer=answer, answer_batches=task.batches, settings=settings, details=details)
    rows = sum(row_counts(places.data, workload.stream_names, task.batches))
    return Measurement(
        (said["seconds"],),
        (rows,),
        answer,
        task.batches,
        settings=settings,
        details={"at_once": True, "startup_seconds": said["startup_seconds"]},
    )


def _pathway_answer(task: Task, said: dict[str, Any], output: Path, kinds: dict[str, dict[str, str]]) -> Answer:
    """The answer in Pathway's file, which has not even a header where nothing came out."""
    if not said["rows_out"]:
        return Answer(0, "0")
    chosen = task.workload.chosen
    casts = ", ".join(f"CAST({name} AS {kinds[stream][column]}) AS {name}" for stream, column, name in chosen)
    with connect(task.cores, order="free") as connection:
        relation = f"(SELECT {casts} FROM read_csv('{output}', header = true, all_varchar = true))"
        return answer_of(connection, relation, task.workload.output_names)
