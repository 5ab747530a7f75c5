"""Records of pushes and moves on the engine, by hand: what would be measured if every claim held."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from experiments.claims import Measured
from experiments.dcape import balance, cleanups, costs, moves, parallel, pushes, resident, together, victims
from experiments.experiment import plain
from tests.experiments import dcape_records

POINTS = 4


def rounds(**figures: Any) -> list[Measured]:
    engine = {
        "used_by_time": [25, 50, 75, 100],
        "clean_up_cpu": [0.1, 0.1, 0.1],
        "clean_up_seconds": 0.3,
        "complete": True,
        "opened_bytes": 0,
        "transfer_seconds": 0.01,
        "cpu": 10.0,
        "bytes": 100,
    }
    return dcape_records.rounds(**{**engine, **figures})


def parallel_record() -> Measured:
    def filled(units: int) -> list[float]:
        return [point / units for point in (25, 50, 75, 100)]

    small = {str(units): rounds(cpu=10.0 + units / 10) for units in parallel.UNITS}
    large = {str(units): rounds(used_by_time=filled(units)) for units in parallel.UNITS}
    return {"small": small, "large": large}


def shares_record() -> Measured:
    by_share = {
        str(share): rounds(results=1_000 - 100 * n, spills=20 - 2 * n) for n, share in enumerate(victims.SHARES)
    }
    return {"none": rounds(), "limits": {str(pushes.LIMIT): by_share}}


def chosen(unproductive: int) -> Measured:
    return {
        "unproductive": rounds(results=unproductive, deferred=[100], clean_up_cpu=[0.1]),
        "productive": rounds(results=1_000, deferred=[500], clean_up_cpu=[0.5]),
    }


def victims_record() -> Measured:
    named = (("mixed", 3_000), ("same", 1_100))
    found = {name: {str(pushes.LIMIT): chosen(most)} for name, most in named}
    return {"none": {name: rounds() for name, _ in named}, **found}


def windowed_record() -> Measured:
    return {"none": rounds(), "mixed": {str(pushes.WINDOW_LIMIT): chosen(2_000)}}


def moves_record() -> Measured:
    counts = {"0.5": (2, 0.2), "0.7": (5, 0.3), "0.8": (8, 0.4), "0.9": (24, 0.48)}
    found = {name: rounds(relocations=count, moved_share=share) for name, (count, share) in counts.items()}
    every = dict(zip(map(str, balance.INTERVALS_MS), (31, 27, 24), strict=True))
    return {
        "none": rounds(relocations=0, moved_share=0.0, spread_most=9.0),
        "balance": found,
        "every": {interval: rounds(relocations=count, cpu=10.5) for interval, count in every.items()},
    }


def skewed_record() -> Measured:
    return {"whole": rounds(), "none": rounds(results=800), "moves": rounds(spills=0)}


def lazy_record() -> Measured:
    slow = {"results": 800, "clean_up_cpu": [0.4, 0.1, 0.1]}
    return {
        "whole": rounds(),
        "limits": {str(one): {"none": rounds(**slow), "lazy": rounds()} for one in together.LIMITS},
    }


def active_record() -> Measured:
    by_policy = {
        "lazy": rounds(results=800, results_by_time=[0, 10, 800]),
        "active": rounds(results_by_time=[0, 9, 1_000]),
    }
    return {"whole": rounds(), "limits": {str(together.ACTIVE_LIMIT): by_policy}}


def clean_ups_record() -> Measured:
    return {"none": rounds(), **chosen(2_000)}


def limited_run(**figures: Any) -> Measured:
    run = {
        "limit": 10,
        "units": 2,
        "state": 110,
        "peak": 22,
        "largest": 19,
        "share": 0.95,
        "pushed": 40,
        "openedBytes": 0,
        "cleanUps": 3,
        "deviceBytes": 0,
        "majorFaults": 0,
        "results": 7,
        "expected": 7,
        "seconds": 1.0,
        "cpu": 1.0,
        "per_second": 70.0,
        "longest_gap": 0.02,
        "processes": 2,
    }
    return {**run, **figures}


def resident_record() -> Measured:
    return {name: limited_run() for name in resident.SCENARIOS}


def cgroup_record() -> Measured:
    group = {"allowed": 30, "idle": 10, "kills": 0, "ended_with": 0, "major_faults_of_group": 5, "peak_of_group": 30}
    return {"runs": {name: {**limited_run(), **group} for name in resident.IN_CGROUP}}


def read_through_record() -> Measured:
    def runs(seconds: float) -> list[Measured]:
        return [{**limited_run(), "rows": 100, "step_seconds": seconds, "cpu": seconds} for _ in range(3)]

    return {"on": "spark", "limit": 10, "limited": runs(2.0), "unlimited": runs(1.0)}


def much_state_record() -> Measured:
    steps = {f"{name}{kind}": value for kind in ("", "Cpu") for name, value in STEPS.items()}
    each = {"stepSeconds": [1.0, 2.0], "stepCpu": [1.0, 2.0], "stateRows": 200, "stateBytes": 400, "rows": 100}
    return {**limited_run(), **steps, **each, "steps": 20}


STEPS = {"median": 1.0, "p99": 2.0, "ratio": 2.0, "longest": 2.5}
RECORDS: dict[str, Callable[[], Measured]] = {
    parallel.PARALLEL.name: parallel_record,
    pushes.PUSH_SHARES.name: shares_record,
    pushes.PUSH_VICTIMS.name: victims_record,
    pushes.PUSH_WINDOWED.name: windowed_record,
    cleanups.CLEAN_UPS.name: clean_ups_record,
    resident.RESIDENT.name: resident_record,
    resident.RESIDENT_ON_SPARK.name: resident_record,
    resident.CGROUP.name: cgroup_record,
    resident.CGROUP_ON_SPARK.name: cgroup_record,
    costs.READ_THROUGH.name: read_through_record,
    costs.READ_THROUGH_ON_SPARK.name: read_through_record,
    costs.MUCH_STATE.name: much_state_record,
    moves.MOVES.name: moves_record,
    moves.SKEWED_MOVES.name: skewed_record,
    together.PUSHES_AND_MOVES.name: lazy_record,
    together.ACTIVE_PUSHES.name: active_record,
}


def record(name: str) -> Measured:
    """A new copy, as it is read back; of a model where there is no such experiment on the engine."""
    return dict(plain(RECORDS[name]())) if name in RECORDS else dcape_records.record(name)
