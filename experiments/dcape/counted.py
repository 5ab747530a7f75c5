"""What is recorded of runs on the engine, and claims that hold of all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from braid.control.memory.decisions import Relocate, Spill
from braid.control.memory.settings import MemorySettings
from experiments.claims import Claim, Measured, Verdict
from experiments.dcape.engine import BYTES_A_SECOND, Ran, run_engine
from experiments.dcape.model import Run, arrivals
from experiments.dcape.runs import POINTS
from experiments.pictures import Picture, Series


def expected_results(run: Run) -> int:
    """All results of a run without windows, from how often each value occurs in each stream."""
    counts = sum(arrivals(run), np.zeros((), np.int64))
    return int(np.prod(counts, axis=0).sum())


def counted(ran: Ran, run: Run, settings: MemorySettings | None, expected: int) -> Measured:
    """A run as it is recorded; `expected` are all its results."""
    used, moves = np.array(ran.used), ran.kinds(Relocate)
    spread = used.max(axis=1) / np.maximum(1, used.min(axis=1))
    settled = spread[moves[0] + 1 :] if moves else spread
    every = max(1, len(ran.results) // POINTS)
    moved = sum(a.size_bytes for _, a in ran.adaptations if isinstance(a, Relocate))
    return {
        "results": ran.results[-1],
        "results_by_time": ran.results[::every],
        "used_by_time": [max(units) for units in ran.used[::every]],
        "deferred": [ran.cleaned],
        "reread": [ran.deferred_bytes],
        "clean_up_cpu": [round(seconds, 4) for seconds in ran.clean_up_cpu],
        "clean_up_seconds": round(ran.clean_up_seconds, 4),
        "complete": ran.results[-1] + ran.cleaned == expected,
        "opened_bytes": ran.opened_bytes,
        "spills": len(ran.kinds(Spill)),
        "relocations": len(moves),
        "moved_share": moved / max(1, int(used[-1].sum()) + ran.deferred_bytes),
        "transfer_seconds": moved / BYTES_A_SECOND,
        "fullest": 0.0 if settings is None else float(used.max() / settings.limit_bytes),
        "spread_90": float(np.quantile(settled, 0.9)),
        "spread_most": float(spread[max(1, 60_000 // run.step_ms) :].max()),
        "cpu": round(ran.step_cpu, 3),
        "bytes": int(used[-1].sum()),
    }


def without_limit(run: Run, window_minutes: int | None = None) -> Measured:
    """The run in which everything stays in memory; its bytes are what limits are shares of."""
    ran = run_engine(run, None, window_minutes=window_minutes)
    return counted(ran, run, None, expected_results(run) if window_minutes is None else ran.results[-1])


def most_bytes(whole: Measured) -> int:
    """The most that a run without a limit had in memory, at one unit."""
    return int(max(whole["used_by_time"][-1], whole["bytes"]))


def all_runs(measured: Any) -> Iterator[Measured]:
    """Every run of a record, however it is nested."""
    if isinstance(measured, dict) and "complete" in measured:
        yield measured
    elif isinstance(measured, dict):
        for part in measured.values():
            yield from all_runs(part)
    elif isinstance(measured, list):
        for part in measured:
            yield from all_runs(part)


def _is_complete(measured: Measured) -> Verdict:
    runs = list(all_runs(measured))
    whole = sum(one["complete"] for one in runs)
    return Verdict(f"in {whole} of {len(runs)} runs, counted", whole == len(runs))


def _opens_nothing(measured: Measured) -> Verdict:
    runs = list(all_runs(measured))
    opened, pushed = sum(one["opened_bytes"] for one in runs), sum(sum(one["reread"]) for one in runs)
    return Verdict(f"{opened:,} of {pushed:,} bytes that were pushed at the end", opened == 0)


COMPLETE = Claim(
    "complete", "after clean-up every result was found, each once", "missing results, no duplicates", _is_complete
)
OPENS_NOTHING = Claim("opens nothing", "lookups read nothing that was pushed", "inactive", _opens_nothing)


def over_time(name: str, title: str, minutes: int, runs: dict[str, Measured], what: str, upward: str) -> Picture:
    """A figure of several runs, by the minutes of input."""
    series = []
    for label, one in runs.items():
        points = one[what]
        places = np.linspace(0, minutes, len(points)).round(2).tolist()
        series.append(Series(label, tuple(zip(places, points, strict=True))))
    return Picture(name, title, "minutes of input", (upward,), tuple(series))
