"""Joins between sites, run by the engine in one process: a slot for each site, every message encoded and counted.

An interval of the paper is a step. New rows of s2 look up s1 too; they do so by SP-D, whose messages are those of the
run in which both do, and are subtracted.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.strategies import Semijoin
from braid.plan.expressions import Call
from braid.plan.logical import LogicalPlan
from braid.plan.predicate import Output
from braid.plan.site_names import Site
from braid.testing import Draft, DraftStream, InlineQuery, ManualClock, equal
from experiments.claims import Measured
from experiments.semijoin.one_way import NAMES, SIMPLE, WAYS, OneWay, Rows, counted_seconds

# Event time and join value have 8 bytes each, and a text the end of its bytes.
FIXED_BYTES = 20
LINKS = {"forward": "s1 -> s2", "backward": "s2 -> s1"}
COUNTED = {"bytes": "payloadBytes", "framing": "framingBytes", "messages": "messages"}
BASE = "SP-D"
# What the simple joins send does not depend on what is stored.
SIMPLE_WARM_BATCHES = 1
Progress = dict[str, Any]
Steps = Sequence[Mapping[str, Rows]]


def joined_plan(
    windows_us: Mapping[str, int], pairs: Sequence[tuple[str, str]], key_type: str = "bigint"
) -> LogicalPlan:
    """Streams, each at a site of its own, with equal keys; results have the lengths of their texts."""
    draft = Draft()
    columns = {"k": key_type, "p": "string"}
    made = {name: draft.stream(name, columns, window_us=us, site=Site(name)) for name, us in windows_us.items()}
    for one, other in pairs:
        draft.on(equal(made[one]["k"], made[other]["k"]))
    plan = draft.select(time=next(iter(made.values()))["ts"]).logical_plan()
    schema = pa.schema([(f"{name}_length", pa.int32()) for name in made])
    outputs = tuple(_length(name, stream) for name, stream in made.items())
    return replace(plan, outputs=outputs, output_schema=schema, sink_schema=schema)


def _length(name: str, stream: DraftStream) -> Output:
    column = stream["p"]
    length = Call("octet_length", (column,), "int")
    return Output(f"{name}_length", f"octet_length(`{column.name}`)", (column,), length, json.dumps("integer"))


def run_steps(
    plan: LogicalPlan, strategy: Semijoin, steps: Steps, row_bytes: Mapping[str, int]
) -> tuple[list[Progress], list[float]]:
    """The progress of every step, and the time that the processor was busy with it; rows have texts of equal length."""
    tables = ({name: _table(rows, row_bytes[name]) for name, rows in step.items()} for step in steps)
    return run_tables(plan, strategy, tables)


def run_tables(
    plan: LogicalPlan, strategy: Semijoin, steps: Iterable[Mapping[str, pa.Table]]
) -> tuple[list[Progress], list[float]]:
    """The progress of every step, and the time that the processor was busy with it."""
    found, busy = [], []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        query = InlineQuery(plan, directory, strategy=strategy, slots=len(plan.streams), clock=ManualClock(0))
        for number, tables in enumerate(steps):
            begun = time.process_time()
            progress = query.run(number, dict(tables))
            if progress is None:
                raise AssertionError(f"step {number} was not run")
            found.append(progress)
            busy.append(time.process_time() - begun)
    return found, busy


def _table(rows: Rows, row_bytes: int) -> pa.Table:
    times, keys = rows
    length = row_bytes - FIXED_BYTES
    ends = pa.array(np.arange(len(times) + 1, dtype=np.int32) * length)
    text = pa.StringArray.from_buffers(len(times), ends.buffers()[1], pa.py_buffer(b"x" * (length * len(times))))
    return pa.table({"ts": pa.array(times).cast(pa.timestamp("us", "UTC")), "k": pa.array(keys), "p": text})


def count_all(setting: OneWay, batches: Sequence[tuple[Rows, Rows]], names: Sequence[str] = NAMES) -> Measured:
    """What each algorithm sends, on the same input."""
    runs = {name: _count(setting, batches, name) for name in {BASE: 0, **dict.fromkeys(names)}}
    base = {what: runs[BASE]["backward"][what] for what in COUNTED}
    for run in runs.values():
        run["backward"] = {what: value - base[what] for what, value in run["backward"].items()}
    return {name: runs[name] for name in names}


def _count(setting: OneWay, batches: Sequence[tuple[Rows, Rows]], algorithm: str) -> Measured:
    """The counts of a second, after the window is full; rows of s2 meet only rows of s1 of the same time."""
    plan = joined_plan({"s1": 0, "s2": 1000 * setting.window_ms}, [("s1", "s2")])
    strategy = Semijoin(plans={"s1": [("s2", algorithm)], "s2": [("s1", BASE)]}, interval=f"{setting.interval_ms} ms")
    first = setting.warm_batches - (SIMPLE_WARM_BATCHES if algorithm in SIMPLE else setting.warm_batches)
    steps = [dict(zip(("s1", "s2"), batch, strict=True)) for batch in batches[first:]]
    sizes = {"s1": setting.source.row_bytes, "s2": setting.stored.row_bytes}
    progress, busy = run_steps(plan, strategy, steps, sizes)
    counted, seconds = setting.warm_batches - first, counted_seconds(setting, batches)
    found: Measured = {
        way: {
            what: sum(_of(step, way, name) for step in progress[counted:]) / seconds for what, name in COUNTED.items()
        }
        for way in WAYS
    }
    return {**found, "results": _results(progress[counted:], algorithm), "busy": sum(busy[counted:]) / seconds}


def _of(step: Progress, way: str, what: str) -> int:
    return int(step["links"].get(LINKS[way], {}).get(what, 0))


def _results(progress: Sequence[Progress], algorithm: str) -> list[int]:
    """Of every step; a simple join that was run without the full window says nothing."""
    return [] if algorithm in SIMPLE else [int(step["numOutputRows"]) for step in progress]
