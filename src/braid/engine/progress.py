"""Progress records: what a step did, as a plain dict that `json.dumps` takes."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from braid.control.memory.deferring import clean_up_seconds
from braid.control.skew import hot_keys
from braid.engine.probe import LookedUp
from braid.engine.reports import ProbeReport
from braid.optimizer.semijoins.link_speeds import measured_speeds
from braid.plan.instants import iso_time
from braid.plan.typed_json import to_text
from braid.state.manifest import DeltaRecord, Manifest
from braid.state.site_state import LinkObservation, Sent
from braid.state.usage import Meter, Usage


class Phases:
    """How long each phase of a step took, and the driver's requests to storage meanwhile."""

    def __init__(self) -> None:
        self.meter = Meter()
        self._began = time.monotonic()
        self._seconds: dict[str, float] = defaultdict(float)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            with self.meter.counting():
                yield
        finally:
            self._seconds[name] += time.monotonic() - began

    def milliseconds(self) -> dict[str, int]:
        phases = {name: round(seconds * 1000) for name, seconds in self._seconds.items()}
        return {**phases, "trigger": round(self.elapsed() * 1000)}

    def complete(self, progress: dict[str, Any]) -> dict[str, Any]:
        """The record of a step with the durations and the driver's requests so far."""
        return progress | {
            "durationMs": self.milliseconds(),
            "storeReads": progress["storeReads"] + self.meter.store_reads,
            "storeWrites": progress["storeWrites"] + self.meter.store_writes,
            "recordBytes": self.meter.record_bytes,
        }

    def elapsed(self) -> float:
        return time.monotonic() - self._began


def recorded(progress: dict[str, Any]) -> dict[str, Any]:
    """What the manifest keeps of a progress record: everything but the units, whose number grows with the cluster."""
    return {name: value for name, value in progress.items() if name != "units"}


def step_progress(
    looked: LookedUp,
    delta: DeltaRecord,
    batch: int | None,
    manifest: Manifest,
    used: Sequence[Usage],
    memory: dict[str, int],
    phases: Phases,
) -> dict[str, Any]:
    """The record of a step that read the Spark batch `batch`, None: no input; `Phases.complete` completes it.

    `used` is what each slot used in its probe jobs, `memory` what executors held.
    """
    names, reports = [stream.name for stream in looked.plan.streams], looked.found.reports
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
        **_usage(names, delta.ingest, used),
        "routing": _routing(delta, used),
        "processedRowsPerSecond": round(rows / max(phases.elapsed(), 1e-9), 1),
        "strategy": manifest.layout.kind,
        "units": _units(reports, manifest),
        "stateRows": sum(block.rows for block in manifest.blocks),
        "stateBytes": sum(block.size for block in manifest.blocks) + sum(payload.size for payload in manifest.payloads),
        "stateBlocks": len(manifest.blocks),
        "copies": sum(block.copies for block in manifest.blocks),
        "links": _links(delta, looked.sent, () if looked.sites is None else looked.sites.links),
        "bytesModelled": _modelled_bytes(looked, delta, used),
        "memory": memory,
        "held": {},
        "partitionGroups": _groups(manifest),
        "deferred": _deferred(manifest, reports, len(used)),
        "inFlight": sum(term.rounds_left for term in manifest.terms),
        "hotKeys": _hot_keys(names, manifest),
        "adaptations": list(delta.adaptations),
    }


def _links(delta: DeltaRecord, sent: Sequence[Sent], observed: Sequence[LinkObservation]) -> dict[str, dict[str, int]]:
    """What crossed each link between sites, by direction: `messagesModelled` are those of one for every interval.

    `ingestBytes` are rows on their way from a reader of their source to the site of their stream. `bytesPerSecond` and
    `latencyMs` were measured in this step and before, where they are clear.
    """
    names = [site.name for site in delta.layout.sites]
    found: dict[str, dict[str, int]] = {}
    for one in sent:
        link = found.setdefault(f"{names[one.source]} -> {names[one.target]}", defaultdict(int))
        link["bytes"] += one.payload + one.framing
        link["payloadBytes"] += one.payload
        link["framingBytes"] += one.framing
        link["messages"] += one.messages
        link["messagesModelled"] += one.modelled_messages
    for one in delta.ingest_sent:
        link = found.setdefault(f"{names[one.source]} -> {names[one.target]}", defaultdict(int))
        link["ingestBytes"] += one.payload
    for (source, target), speed in measured_speeds(observed).items():
        for link in (found[way] for way in (f"{source} -> {target}", f"{target} -> {source}") if way in found):
            if speed.bytes_per_second is not None:
                link["bytesPerSecond"] = round(speed.bytes_per_second)
            if speed.latency_seconds is not None:
                link["latencyMs"] = round(1000 * speed.latency_seconds)
    return {name: dict(found[name]) for name in sorted(found)}


def _groups(manifest: Manifest) -> dict[str, Any]:
    """What is known of partition groups: how many there are, those with rows, and the bytes of the largest."""
    if manifest.groups is None:
        return {}
    sizes = [load.size for load in manifest.groups.loads]
    return {"groups": len(sizes), "withRows": sum(size > 0 for size in sizes), "largestBytes": max(sizes)}


def _hot_keys(names: Sequence[str], manifest: Manifest) -> list[dict[str, Any]]:
    return [
        {"stream": names[hot.stream], "key": hot.text, "share": round(hot.share, 4)}
        for hot in hot_keys(manifest.layout, manifest.key_counts)
    ]


def _deferred(manifest: Manifest, reports: Sequence[ProbeReport], slots: int) -> dict[str, Any]:
    """The partition groups with deferred results, the rows and bytes of their pushed parts, and what is left to do.

    `opened` is what the lookups of the step have opened of them.
    """
    state = manifest.groups
    if state is None or not state.pushes:
        return {}
    loads = [state.loads[group] for group in state.owing]
    return {
        "groups": len(loads),
        "rows": sum(load.pushed_rows for load in loads),
        "bytes": sum(load.pushed_size for load in loads),
        "openedRows": sum(report.hidden.rows for report in reports),
        "openedBytes": sum(report.hidden.size for report in reports),
        "estimatedMs": round(1000 * clean_up_seconds(state, max(1, slots))),
    }


def _usage(names: Sequence[str], ingest: Sequence[Usage], used: Sequence[Usage]) -> dict[str, Any]:
    """What the tasks of a step used; `ingest` by stream, `used` by slot."""
    tasks = {"ingest": sum(ingest, Usage()), "probe": sum(used, Usage())}
    reads, largest = tasks["probe"].segment_reads, max((usage.segment_reads for usage in used), default=0)
    return {
        "taskSeconds": {phase: round(usage.seconds, 6) for phase, usage in tasks.items()},
        "cpuSeconds": {phase: round(usage.cpu, 6) for phase, usage in tasks.items()},
        "openingCpuSeconds": round(tasks["probe"].opening, 6),
        "ingestCpuSeconds": {name: round(usage.cpu, 6) for name, usage in zip(names, ingest, strict=True)},
        "bytesMoved": sum(usage.moved_bytes for usage in tasks.values()),
        "bytesFetched": tasks["probe"].fetched_bytes,
        "segmentReads": {"total": reads, "largestSlot": largest},
        "storeReads": sum(usage.store_reads for usage in tasks.values()),
        "storeWrites": sum(usage.store_writes for usage in tasks.values()),
    }


def _routing(delta: DeltaRecord, used: Sequence[Usage]) -> dict[str, Any]:
    """What it took to choose the units that store rows and that lookups visit, and the bytes of what was recorded."""
    placing = sum(usage.placing for usage in (*delta.ingest, *used))
    return {
        "cpuSeconds": round(placing + delta.covering_seconds, 6),
        "metadataBytes": len(to_text(delta.covers)) if delta.covers else 0,
    }


def _modelled_bytes(looked: LookedUp, delta: DeltaRecord, used: Sequence[Usage]) -> int:
    """What units on separate hosts would receive: rows to store, to probe with, between rounds; fetched payloads."""
    received = sum(unit.received_bytes for unit in looked.found.units) + sum(usage.fetched_bytes for usage in used)
    return sum(block.size for block in delta.blocks) + looked.exchanged_bytes + received


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
                | {"pairsCompared": 0, "results": 0, "cpuSeconds": 0.0, "bytesReceived": 0, "windowChecksSkipped": 0}
                | {"visits": 0, "copies": 0},
            )
            entry["rowsStored"] = max(entry["rowsStored"], unit.stored_rows)
            entry["bytes"] = max(entry["bytes"], unit.stored_bytes)
            entry["copies"] = max(entry["copies"], unit.copies)
            entry["rowsProbed"] += unit.probes
            entry["pairsCompared"] += unit.compared
            entry["results"] += unit.matched
            entry["bytesReceived"] += unit.received_bytes
            entry["windowChecksSkipped"] += unit.windows_skipped
            entry["visits"] += unit.visits
            entry["cpuSeconds"] = round(entry["cpuSeconds"] + unit.cpu, 6)
    return [found[number] for number in sorted(found)]
