"""What a memory limit costs: the rate with state of twice the limit, and the steps of a query with much more state."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, Literal

from benchmarks.memory import large, measuring
from benchmarks.memory.large import Large, On
from benchmarks.memory.scenarios import UNITS
from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.dcape.resident import MEGABYTE, OURS
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

TIMES = 2.2
"""State over the limit of all units, which is then at least twice."""
LEAST_TIMES = 2.0
LEAST_RATE = 0.3
LAST_SHARE = 4
"""One part of so many, the last: the steps that are counted, when the state has nearly its full size."""
MOST_P99 = 3.0
WAYS = ("limited", "unlimited")
Clock = Literal["wall time", "CPU time"]
BESIDE_OTHERS = (
    "Time under a limit: the machine had other work than these runs, which ran only when cores were idle. A step waits "
    "for them by wall time, and not by CPU time."
)


def measure_read_through(on: On, size: Size) -> Measured:
    """With the limit and without it in turn, another one first each time."""
    limit = size.limit_mb * MEGABYTE
    found: Measured = {way: [] for way in WAYS}
    for number in range(size.seeds):
        for way in WAYS if number % 2 == 0 else WAYS[::-1]:
            own = limit if way == "limited" else 0
            found[way].append(_recorded(measuring.sampled(on, "partitioned", own, int(TIMES * UNITS * limit))))
    return {"on": on, "limit": limit, **found}


def _recorded(run: dict[str, Any]) -> Measured:
    last = run["stepSeconds"][-max(1, len(run["stepSeconds"]) // LAST_SHARE) :]
    kept = ("state", "results", "expected", "deviceBytes", "majorFaults", "cpu", "seconds", "largest")
    return {"rows": 2 * run["rows"], "step_seconds": statistics.mean(last), **{what: run[what] for what in kept}}


def measure_much_state(size: Size) -> Measured:
    asked = Large(size.large_rows, size.large_steps, size.large_units, size.large_limit_mb * MEGABYTE)
    return measuring.sampled_large(asked, "process")


def rates(runs: Sequence[Measured]) -> list[float]:
    return [run["rows"] / run["step_seconds"] for run in runs]


def _keeps_rate(by: Clock, measured: Measured) -> Verdict:
    """Of the last steps by wall time, or of all steps by CPU time."""
    if by == "wall time":
        ratio = Ratio.of(*(rates(measured[way]) for way in WAYS))
    else:
        ratio = Ratio.of(*([1 / run["cpu"] for run in measured[way]] for way in WAYS))
    device = sum(run["deviceBytes"] for run in measured["limited"])
    times = min(run["state"] / (measured["limit"] * UNITS) for run in measured["limited"])
    here = (
        f"{ratio} of the rate in memory, with state of {times:.1f} times the limit; "
        f"{device / MEGABYTE:,.0f} MB from devices"
    )
    why = BESIDE_OTHERS if by == "wall time" else ""
    return Verdict(here, ratio.above(LEAST_RATE) if times >= LEAST_TIMES else False, why)


def _same_results(measured: Measured) -> Verdict:
    runs = [run for way in WAYS for run in measured[way]]
    right = sum(run["results"] == run["expected"] for run in runs)
    return Verdict(f"in {right} of {len(runs)} runs, counted", right == len(runs))


def _runs(measured: Measured) -> Verdict:
    rows, steps = measured["stateRows"], measured["steps"]
    here = f"{rows:,} rows of state after {steps} steps, {measured['results']:,} results"
    return Verdict(here, rows >= 2 * measured["rows"] - 2 * steps)


def _steady(kind: str, measured: Measured) -> Verdict:
    ratio, high, median = (measured[f"{name}{kind}"] for name in ("ratio", "p99", "median"))
    return Verdict(f"p99 {high:.2f} s, median {median:.2f} s: {ratio:.2f} times", ratio <= MOST_P99, BESIDE_OTHERS)


def _stays_below(measured: Measured) -> Verdict:
    here = f"at most {measured['share']:.2f} of the limit, {measured['per_second']:.0f} samples a second"
    return Verdict(here, measured["share"] <= 1.1 and measured["per_second"] >= 20)


def _describe(measured: Measured, settings: Settings) -> str:
    where = "on Spark" if measured["on"] == "spark" else "in one process"
    return (
        f"Two units with a limit of {settings['size.limit_mb']} MB each, `read-through`, {where}, with the limit and "
        f"without it in turn. By wall time the rate is that of the last quarter of the steps, by CPU time that of "
        f"all, on Spark without what the JVM takes. What has no room is copied from the page cache; bytes from devices "
        f"are said beside."
    )


def _describe_much_state(measured: Measured, settings: Settings) -> str:
    rows, limit = settings["size.large_rows"], settings["size.large_limit_mb"]
    return (
        f"Two streams of {rows:,} narrow rows each with unbounded windows, {settings['size.large_units']} units with a "
        f"limit of {limit} MB each, `read-through`, {settings['size.large_steps']} steps of as many rows in one "
        f"process, which is sampled by another. The first {large.WARM} steps are not counted. "
        f"`python -m benchmarks.memory large` runs the same."
    )


def _table(measured: Measured) -> list[Table]:
    rows = [
        (
            f"{'with the limit' if way == 'limited' else 'in memory'}, round {number}",
            f"{rate:,.0f}",
            f"{run['state'] / (measured['limit'] * UNITS):.1f}",
            f"{run['cpu']:.1f}",
            f"{run['deviceBytes'] / MEGABYTE:,.0f}",
            f"{run['majorFaults']:,}",
        )
        for way in WAYS
        for number, (run, rate) in enumerate(zip(measured[way], rates(measured[way]), strict=True), 1)
    ]
    headings = (
        "run",
        "rows a second",
        "state, of the limit",
        "CPU seconds of tasks",
        "MB from devices",
        "major faults",
    )
    return [Table(headings, tuple(rows))]


def _table_of_much_state(measured: Measured) -> list[Table]:
    rows = [
        (
            name,
            *(f"{measured[f'{what}{kind}']:.2f}" for what in ("median", "p99", "ratio", "longest")),
        )
        for name, kind in (("wall time", ""), ("CPU time", "Cpu"))
    ]
    caption = (
        f"Steps of {2 * measured['rows'] // measured['steps']:,} rows; state of "
        f"{measured['stateBytes'] / MEGABYTE:,.0f} MB, {measured['deviceBytes'] / MEGABYTE:,.0f} MB from devices, "
        f"{measured['majorFaults']:,} major faults, kernel's peak {measured['peak'] / MEGABYTE:,.0f} MB"
    )
    return [Table(("seconds of a step", "median", "p99", "p99 over median", "longest"), tuple(rows), caption)]


def _pictures_of_much_state(measured: Measured) -> list[Picture]:
    first = large.WARM + 1
    series = tuple(
        Series(label, tuple((first + place, seconds) for place, seconds in enumerate(measured[what])))
        for label, what in (("wall time", "stepSeconds"), ("CPU time", "stepCpu"))
    )
    return [Picture("steps", "Seconds of each step as the state grows", "step", ("seconds",), series)]


def _read_through(on: On, name: str, where: str) -> Experiment:
    text = f"`read-through` with state of twice the limit keeps three tenths of the rate in memory, {where}"
    return Experiment(
        name,
        f"The rate with state of twice the limit, {where}",
        (OURS,),
        partial(measure_read_through, on),
        _describe,
        (
            Claim("keeps rate", f"{text}, by wall time", OURS, partial(_keeps_rate, "wall time")),
            Claim("keeps rate, CPU", f"{text}, by CPU time", OURS, partial(_keeps_rate, "CPU time")),
            Claim("same results", "every result was found, each once", OURS, _same_results),
        ),
        _table,
        timed=True,
        modules=(sys.modules[__name__], measuring),
    )


READ_THROUGH = _read_through("process", "read_through", "in one process")
READ_THROUGH_ON_SPARK = _read_through("spark", "read_through_on_spark", "on Spark")
MUCH_STATE = Experiment(
    "much_state",
    "100 million rows in four units",
    (OURS,),
    measure_much_state,
    _describe_much_state,
    (
        Claim("runs", "a query with 100 million rows of state in four units of 256 MB runs", OURS, _runs),
        Claim(
            "steady",
            "the 99th percentile of its steps is at most three times the median, by wall time",
            OURS,
            lambda measured: _steady("", measured),
        ),
        Claim("steady CPU", "and by CPU time", OURS, lambda measured: _steady("Cpu", measured)),
        Claim("stays below", "no sample is more than a tenth above the limit", OURS, _stays_below),
    ),
    _table_of_much_state,
    _pictures_of_much_state,
    timed=True,
    modules=(large,),
)
