"""What a memory limit holds: samples of what workers really have, and runs in a cgroup that has no more than that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.memory import limited, measuring
from benchmarks.memory.cgroups import NoCgroup
from benchmarks.memory.scenarios import UNITS
from experiments.claims import Claim, Measured, Verdict
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

OURS = "no figure; ours"
MEGABYTE = 1 << 20
# Of the limit of all units: rows differ a little in size, so this is somewhat more than the five times of the claim.
ASKED_TIMES, LEAST_TIMES = 5.5, 5.0
MOST_SHARE = 1.1
LEAST_A_SECOND = 20.0
SCENARIOS = ("partitioned", "time-sliced", "auto", "lazy-disk", "ordered", "totals")
DEFERRING = ("lazy-disk",)
IN_CGROUP = ("partitioned", "lazy-disk", "totals")
KEPT = (
    *("units", "state", "peak", "pushed", "openedBytes", "cleanUps", "deviceBytes", "majorFaults"),
    *("results", "expected", "seconds", "cpu"),
)
SAMPLED = ("largest", "share", "per_second", "longest_gap", "processes")
OF_GROUP = ("allowed", "idle", "kills", "ended_with", "major_faults_of_group", "peak_of_group")


def measure_held(size: Size) -> Measured:
    """Every scenario once, in one process and on Spark."""
    limit = size.limit_mb * MEGABYTE
    found: Measured = {}
    for on in size.limited_on:
        found[on] = {}
        for name in SCENARIOS:
            run = measuring.sampled(on, name, limit, int(ASKED_TIMES * UNITS * limit))
            found[on][name] = {"limit": limit, **{what: run[what] for what in (*KEPT, *SAMPLED)}}
    return found


def measure_cgroup(size: Size) -> Measured:
    """The same in a cgroup; where none can be made, the reason."""
    limit = size.limit_mb * MEGABYTE
    found: Measured = {"runs": {}}
    try:
        for on in size.limited_on:
            found["runs"][on] = {}
            for name in IN_CGROUP:
                run = limited.limited(on, name, limit, int(ASKED_TIMES * UNITS * limit))
                found["runs"][on][name] = {"limit": limit, **{what: run.get(what) for what in (*KEPT, *OF_GROUP)}}
    except NoCgroup as error:
        return {"reason": str(error)}
    return found


def runs_of(measured: Measured) -> Iterator[tuple[str, str, Measured]]:
    for on, by_scenario in measured.items():
        for name, run in by_scenario.items():
            yield on, name, run


def _never_exceeded(measured: Measured) -> Verdict:
    runs = [run for _, _, run in runs_of(measured)]
    on, name, worst = max(runs_of(measured), key=lambda found: float(found[2]["share"]))
    times = min(run["state"] / (run["limit"] * UNITS) for run in runs)
    here = f"at most {worst['share']:.2f} of the limit ({name}, {on}), with state of {times:.1f} times it or more"
    return Verdict(here, worst["share"] <= MOST_SHARE and times >= LEAST_TIMES)


def _often(measured: Measured) -> Verdict:
    runs = [run for _, _, run in runs_of(measured)]
    fewest, gap = min(run["per_second"] for run in runs), max(run["longest_gap"] for run in runs)
    return Verdict(f"at least {fewest:.0f} a second, {1000 * gap:.0f} ms between two at most", fewest >= LEAST_A_SECOND)


def _includes_clean_up(measured: Measured) -> Verdict:
    deferring = [run for _, name, run in runs_of(measured) if name in DEFERRING]
    steps, opened = sum(run["cleanUps"] for run in deferring), sum(run["openedBytes"] for run in deferring)
    pushed = sum(run["pushed"] for run in deferring)
    here = f"{steps} steps of clean-up, after {pushed / MEGABYTE:,.0f} MB were pushed, {opened} of them read before"
    return Verdict(here, opened == 0 and all(run["cleanUps"] > 0 and run["pushed"] > 0 for run in deferring))


def _complete(runs: Sequence[Measured]) -> Verdict:
    right = sum(run["results"] == run["expected"] for run in runs)
    return Verdict(f"in {right} of {len(runs)} runs, counted", right == len(runs))


def _not_killed(measured: Measured) -> Verdict:
    if "reason" in measured:
        return Verdict(f"not measured: {measured['reason']}", None)
    runs = [run for _, _, run in runs_of(measured["runs"])]
    whole = [run for run in runs if run["ended_with"] == 0 and run["kills"] == 0 and run["results"] == run["expected"]]
    kills, faults = (sum(run[what] for run in runs) for what in ("kills", "major_faults_of_group"))
    here = f"{len(whole)} of {len(runs)} runs complete with all results, {kills} kills; {faults:,} major faults"
    return Verdict(here, len(whole) == len(runs) and kills == 0)


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
            f"{name}, {on}",
            f"{run['share']:.2f}",
            f"{run['peak'] / (run['limit'] * UNITS):.2f}",
            f"{run['state'] / (run['limit'] * UNITS):.1f}",
            f"{run['per_second']:.0f}",
            f"{1000 * run['longest_gap']:.0f}",
            f"{run['pushed'] / MEGABYTE:,.0f}",
            f"{run['deviceBytes'] / MEGABYTE:,.0f}",
            f"{run['majorFaults']:,}",
        )
        for on, name, run in runs_of(measured)
    ]
    headings = (
        "query, run in",
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
            f"{name}, {on}",
            f"{run['allowed'] / MEGABYTE:,.1f}",
            f"{run['idle'] / MEGABYTE:,.1f}",
            f"{run['kills']}",
            f"{run['major_faults_of_group']:,}",
            "ended" if run["state"] is None else f"{run['state'] / (run['limit'] * UNITS):.1f}",
            "" if run["deviceBytes"] is None else f"{run['deviceBytes'] / MEGABYTE:,.0f}",
        )
        for on, name, run in runs_of(measured["runs"])
    ]
    headings = (
        "query, run in",
        "MB of the cgroup",
        "of them idle",
        "kills",
        "major faults",
        "state, of the limit",
        "MB from devices",
    )
    return [Table(headings, tuple(rows))]


def _pictures(measured: Measured) -> list[Picture]:
    series = [
        Series(on, tuple((name, run["share"]) for name, run in by_scenario.items()))
        for on, by_scenario in measured.items()
    ]
    bound = Series("bound of the claim", tuple((name, MOST_SHARE) for name in SCENARIOS))
    title = "Largest sample of what workers have, state of five times the limit"
    return [Picture("", title, "query", ("times the limit",), (*series, bound), "dots")]


HELD = Experiment(
    "held",
    "What workers have under a limit, sampled",
    (OURS,),
    measure_held,
    _describe,
    (
        Claim(
            "never exceeded",
            "with state of five times the limit, no sample is more than a tenth above it",
            OURS,
            _never_exceeded,
        ),
        Claim("often", "samples come at least 20 times a second", OURS, _often),
        Claim("includes clean-up", "clean-ups of pushed groups are among what is sampled", OURS, _includes_clean_up),
        Claim(
            "complete",
            "every result was found, each once",
            OURS,
            lambda measured: _complete([run for _, _, run in runs_of(measured)]),
        ),
    ),
    _table,
    _pictures,
)
CGROUP = Experiment(
    "cgroup",
    "Under a limit, in a cgroup of as much memory",
    (OURS,),
    measure_cgroup,
    _describe_cgroup,
    (
        Claim(
            "not killed",
            "in a cgroup of the units' limits and what idle workers have, a run completes without a kill",
            OURS,
            _not_killed,
        ),
    ),
    _table_of_cgroup,
)
