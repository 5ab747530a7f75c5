"""A query in one process: all tasks run in it, so it is the only worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from benchmarks.memory.scenarios import SLOTS, Scenario, batch, two_streams
from braid.control.memory.overflow import policy_of
from braid.control.ordering import Ordering
from braid.testing import InlineQuery

ROWS = 10_000


def run(directory: str, scenario: Scenario, limit: int, steps: int, ready: Callable[[], None]) -> dict[str, Any]:
    """Run so many steps after one that only imports; deferred results are found at the end. What progress says."""
    memory = scenario.limit(limit)
    query = InlineQuery(
        two_streams(scenario.shape),
        directory,
        strategy=scenario.strategy,
        slots=SLOTS,
        rows_per_batch=ROWS,
        limits=memory,
        memory=policy_of(memory),
        ordering=Ordering("filter-order", 0.3) if scenario.shape == "ordered" else None,
    )
    first = query.run(0, batch(0, ROWS, scenario.partners))
    records: list[dict[str, Any]] = [] if first is None else [first]
    ready()
    began, began_cpu, making = time.monotonic(), time.process_time(), 0.0
    for step in range(1, steps):
        made = time.process_time()
        tables = batch(step, ROWS, scenario.partners)
        making += time.process_time() - made
        records += [record for record in [query.run(step, tables)] if record is not None]
    for finish in (query.steps.flush, query.steps.clean_up):
        while (record := finish()) is not None:
            records.append(record)
    cpu = time.process_time() - began_cpu - making
    return {"seconds": time.monotonic() - began - making, "cpu": cpu, "steps": steps, "rows": ROWS} | totals_of(records)


def totals_of(records: list[dict[str, Any]]) -> dict[str, Any]:
    """What the records of all steps say together."""
    memory = [record["memory"] for record in records if record["memory"]]
    deferred = [record["deferred"] for record in records if record["deferred"]]
    return {
        "results": sum(record["numOutputRows"] for record in records),
        "units": max(len(record["units"]) for record in records),
        "state": max(record["stateBytes"] for record in records),
        "peak": max((record["peak"] for record in memory), default=0),
        "deviceBytes": sum(record["deviceBytes"] for record in memory),
        "majorFaults": sum(record["majorFaults"] for record in memory),
        "pushed": max((record["bytes"] for record in deferred), default=0),
        "openedBytes": sum(record["openedBytes"] for record in deferred),
        "cleanUps": sum(record["sparkBatchId"] is None for record in records),
        "segmentReads": sum(record["segmentReads"]["total"] for record in records),
        "stepSeconds": [record["durationMs"]["trigger"] / 1000 for record in records if record["numInputRows"]],
    }
