"""Progress records: what a step did, as a plain dict that `json.dumps` takes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from braid.control.skew import hot_keys
from braid.engine.reports import ProbeReport
from braid.plan.instants import iso_time
from braid.plan.join import JoinPlan
from braid.state.manifest import DeltaRecord, Manifest


class Phases:
    """How long each phase of a step took."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self._seconds[name] += time.monotonic() - began

    def milliseconds(self) -> dict[str, int]:
        phases = {name: round(seconds * 1000) for name, seconds in self._seconds.items()}
        return {**phases, "trigger": round(self.elapsed() * 1000)}

    def elapsed(self) -> float:
        return time.monotonic() - self._began


def step_progress(
    plan: JoinPlan,
    delta: DeltaRecord,
    batch: int | None,
    manifest: Manifest,
    reports: Sequence[ProbeReport],
    exchanged_bytes: int,
    phases: Phases,
) -> dict[str, Any]:
    """The record of a step that read the Spark batch `batch`, None: no input; durations are added at its end."""
    names = [stream.name for stream in plan.streams]
    rows = sum(delta.input_rows)
    return {
        "batchId": delta.step,
        "sparkBatchId": batch,
        "timestamp": iso_time(delta.now_ms * 1000),
        "numInputRows": rows,
        "inputRows": dict(zip(names, delta.input_rows, strict=True)),
        "numOutputRows": sum(report.output.results for report in reports),
        "lateRows": dict(zip(names, delta.late_rows, strict=True)),
        "watermarks": {name: iso_time(mark) for name, mark in zip(names, delta.watermarks, strict=True)},
        "idle": [name for name, asleep in zip(names, delta.idle, strict=True) if asleep],
        "durationMs": phases.milliseconds(),
        "processedRowsPerSecond": round(rows / max(phases.elapsed(), 1e-9), 1),
        "strategy": manifest.layout.kind,
        "units": _units(reports, manifest),
        "stateRows": sum(block.rows for block in manifest.blocks),
        "stateBytes": sum(block.size for block in manifest.blocks),
        "stateBlocks": len(manifest.blocks),
        "bytesMoved": delta.moved_bytes
        + exchanged_bytes
        + sum(unit.received_bytes for report in reports for unit in report.units),
        "held": {},
        "hotKeys": [
            {"stream": names[hot.stream], "key": hot.text, "share": round(hot.share, 4)}
            for hot in hot_keys(manifest.layout, manifest.key_counts)
        ],
        "adaptations": list(delta.adaptations),
    }


def _units(reports: Sequence[ProbeReport], manifest: Manifest) -> list[dict[str, Any]]:
    """Per unit of the current layout: the rows it stores and the cost of its lookups."""
    found: dict[int, dict[str, Any]] = {}
    for report in reports:
        for unit in report.units:
            if unit.epoch != manifest.layout.epoch:
                continue
            entry = found.setdefault(
                unit.unit,
                {"unit": unit.unit, "slot": report.slot, "rowsStored": 0, "bytes": 0, "rowsProbed": 0}
                | {"pairsCompared": 0, "results": 0, "cpuSeconds": 0.0, "bytesReceived": 0, "windowChecksSkipped": 0},
            )
            entry["rowsStored"] = max(entry["rowsStored"], unit.stored_rows)
            entry["bytes"] = max(entry["bytes"], unit.stored_bytes)
            entry["rowsProbed"] += unit.probes
            entry["pairsCompared"] += unit.compared
            entry["results"] += unit.matched
            entry["bytesReceived"] += unit.received_bytes
            entry["windowChecksSkipped"] += unit.windows_skipped
            entry["cpuSeconds"] = round(entry["cpuSeconds"] + unit.cpu, 6)
    return [found[number] for number in sorted(found)]
