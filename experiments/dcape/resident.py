"""What a memory limit holds: samples of what workers really have, and runs in a cgroup that has no more than that."""

from __future__ import annotations

import sys
from functools import partial

from benchmarks.memory import limited, measuring
from benchmarks.memory.cgroups import NoCgroup
from benchmarks.memory.large import On
from benchmarks.memory.scenarios import UNITS
from experiments.claims import Claim, Measured, Verdict
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

OURS = "no figure; ours"
MEGABYTE = 1 << 20
# Of the limit of all units: rows differ a little in size, so this is somewhat more than the five times of the claim.
ASKED_TIMES, LEAST_TIMES = 5.5, 5.0
# Of the rows that are added up, one stream's have no text in the state: it needs about twice as many.
MORE_ROWS = {"totals": 2.0}
MOST_SHARE = 1.1
LEAST_A_SECOND = 20.0
SCENARIOS = ("partitioned", "time-sliced", "auto", "lazy-disk", "ordered", "totals")
DEFERRING = "lazy-disk"
IN_CGROUP = ("partitioned", "lazy-disk", "totals")
KERNEL_COUNTS_MORE = (
    "In a cgroup: the limit is the smallest that a user may give, and the kernel kills at the whole of it, its own "
    "memory for the processes included."
)
KEPT = (
    *("units", "state", "peak", "pushed", "openedBytes", "cleanUps", "deviceBytes", "majorFaults"),
    *("results", "expected", "seconds", "cpu"),
)
SAMPLED = ("largest", "share", "per_second", "longest_gap", "processes")
OF_GROUP = ("allowed", "idle", "kills", "ended_with", "major_faults_of_group", "peak_of_group")


def measure_resident(on: On, size: Size) -> Measured:
    """Every scenario once."""
    limit = size.limit_mb * MEGABYTE
    found: Measured = {}
    for name in SCENARIOS:
        run = measuring.sampled(on, name, limit, _state_bytes(name, limit))
        found[name] = {"limit": limit, **{what: run[what] for what in (*KEPT, *SAMPLED)}}
    return found


def _state_bytes(name: str, limit: int) -> int:
    return int(ASKED_TIMES * MORE_ROWS.get(name, 1.0) * UNITS * limit)


def measure_cgroup(on: On, size: Size) -> Measured:
    """The same in a cgroup; where none can be made, the reason."""
    limit = size.limit_mb * MEGABYTE
    found: Measured = {"runs": {}}
    try:
        for name in IN_CGROUP:
            run = limited.limited(on, name, limit, int(ASKED_TIMES * UNITS * limit))
            found["runs"][name] = {"limit": limit, **{what: run.get(what) for what in (*KEPT, *OF_GROUP)}}
    except NoCgroup as error:
        return {"reason": str(error)}
    return found


def _never_exceeded(measured: Measured) -> Verdict:
    worst = max(measured, key=lambda name: float(measured[name]["share"]))
    share = measured[worst]["share"]
    times = min(run["state"] / (run["limit"] * UNITS) for run in measured.values())
    here = f"at most {share:.2f} of the limit ({worst}), with state of {times:.1f} times it or more"
    return Verdict(here, share <= MOST_SHARE and times >= LEAST_TIMES)


def _often(measured: Measured) -> Verdict:
    fewest = min(run["per_second"] for run in measured.values())
    gap = max(run["longest_gap"] for run in measured.values())
    return Verdict(f"at least {fewest:.0f} a second, {1000 * gap:.0f} ms between two at most", fewest >= LEAST_A_SECOND)


def _includes_clean_up(measured: Measured) -> Verdict:
    run = measured[DEFERRING]
    pushed = f"{run['pushed'] / MEGABYTE:,.0f} MB were pushed, {run['openedBytes']:,} bytes of them read before"
    holds = run["cleanUps"] > 0 and run["pushed"] > 0 and run["openedBytes"] == 0
    return Verdict(f"{run['cleanUps']} steps of clean-up after {pushed}", holds)


def _complete(measured: Measured) -> Verdict:
    right = sum(run["results"] == run["expected"] for run in measured.values())
    return Verdict(f"in {right} of {len(measured)} runs, counted", right == len(measured))


def _not_killed(measured: Measured) -> Verdict:
    if "reason" in measured:
        return Verdict(f"not measured: {measured['reason']}", None)
    runs = list(measured["runs"].values())
    whole = [run for run in runs if run["ended_with"] == 0 and run["kills"] == 0 and run["results"] == run["expected"]]
    kills, faults = (sum(run[what] for run in runs) for what in ("kills", "major_faults_of_group"))
    here = f"{len(whole)} of {len(runs)} runs complete with all results, {kills} kills; {faults:,} major faults"
    return Verdict(here, len(whole) == len(runs), KERNEL_COUNTS_MORE)


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Two units with a limit of {settings['size.limit_mb']} MB each, two streams of rows of 220 bytes with "
        f"unbounded windows, so that the state only grows. Another process samples what the workers have above idle, "
        f"proportional bytes of files and anonymous bytes, without a limit of the kernel; merges, pushes and "
        f"clean-ups are in the samples. `python -m benchmarks.memory limit` runs the same."
    )


def _describe_cgroup(measured: Measured, settings: Settings) -> str:
    if "reason" in measured:
        return f"Skipped: {measured['reason']}"
    return (
        f"The same runs with a limit of {settings['size.limit_mb']} MB a unit, in a cgroup that has two units times "
        f"the limit, and what the workers had when idle. The kernel counts the page cache too and takes it back "
        f"first, so what is read over the limit comes from the disk. On Spark only the Python workers are in it. "
        f"`python -m benchmarks.memory cgroup` runs the same."
    )


def _table(measured: Measured) -> list[Table]:
    rows = [
        (
            name,
            f"{run['share']:.2f}",
            f"{run['peak'] / (run['limit'] * UNITS):.2f}",
            f"{run['state'] / (run['limit'] * UNITS):.1f}",
            f"{run['per_second']:.0f}",
            f"{1000 * run['longest_gap']:.0f}",
            f"{run['pushed'] / MEGABYTE:,.0f}",
            f"{run['deviceBytes'] / MEGABYTE:,.0f}",
            f"{run['majorFaults']:,}",
        )
        for name, run in measured.items()
    ]
    headings = (
        "query",
        "largest sample, of the limit",
        "kernel's peak, an upper bound",
        "state, of the limit",
        "samples a second",
        "longest gap, ms",
        "MB pushed",
        "MB from devices",
        "major faults",
    )
    return [Table(headings, tuple(rows))]


def _table_of_cgroup(measured: Measured) -> list[Table]:
    if "reason" in measured:
        return []
    rows = [
        (
            name,
            f"{run['allowed'] / MEGABYTE:,.1f}",
            f"{run['idle'] / MEGABYTE:,.1f}",
            f"{run['kills']}",
            f"{run['major_faults_of_group']:,}",
            "ended" if run["state"] is None else f"{run['state'] / (run['limit'] * UNITS):.1f}",
            "" if run["deviceBytes"] is None else f"{run['deviceBytes'] / MEGABYTE:,.0f}",
        )
        for name, run in measured["runs"].items()
    ]
    headings = (
        "query",
        "MB of the cgroup",
        "of them idle",
        "kills",
        "major faults",
        "state, of the limit",
        "MB from devices",
    )
    return [Table(headings, tuple(rows))]


def _pictures(measured: Measured) -> list[Picture]:
    largest = Series("largest sample", tuple((name, run["share"]) for name, run in measured.items()))
    bound = Series("bound of the claim", tuple((name, MOST_SHARE) for name in measured))
    title = "Largest sample of what workers have, state of five times the limit"
    return [Picture("", title, "query", ("times the limit",), (largest, bound), "dots")]


def _resident(on: On, name: str, where: str) -> Experiment:
    return Experiment(
        name,
        f"What workers have under a limit, sampled {where}",
        (OURS,),
        partial(measure_resident, on),
        _describe,
        (
            Claim(
                "never exceeded",
                f"with state of five times the limit, no sample is more than a tenth above it, {where}",
                OURS,
                _never_exceeded,
            ),
            Claim("often", "samples come at least 20 times a second", OURS, _often),
            Claim(
                "includes clean-up", "the clean-up of pushed groups is among what is sampled", OURS, _includes_clean_up
            ),
            Claim("complete", "every result was found, each once", OURS, _complete),
        ),
        _table,
        _pictures,
        modules=(sys.modules[__name__],),
    )


def _cgroup(on: On, name: str, where: str) -> Experiment:
    return Experiment(
        name,
        f"Under a limit, in a cgroup of as much memory, {where}",
        (OURS,),
        partial(measure_cgroup, on),
        _describe_cgroup,
        (
            Claim(
                "not killed",
                f"in a cgroup of the units' limits and what idle workers have, no run is killed, {where}",
                OURS,
                _not_killed,
            ),
        ),
        _table_of_cgroup,
        modules=(sys.modules[__name__],),
    )


RESIDENT, RESIDENT_ON_SPARK = (
    _resident("process", "resident", "in one process"),
    _resident("spark", "resident_on_spark", "on Spark"),
)
CGROUP, CGROUP_ON_SPARK = (
    _cgroup("process", "cgroup", "in one process"),
    _cgroup("spark", "cgroup_on_spark", "on Spark"),
)
