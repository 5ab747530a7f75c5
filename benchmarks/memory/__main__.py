"""`python -m benchmarks.memory WHAT`: what a memory limit holds, and what it costs.

`limit`: the largest sample of what workers hold while the state grows to several times the limit, compaction and
clean-up included, in one process and on Spark.
`cgroup`: the same in a cgroup that has as much memory as all units may hold, and what workers hold when idle.
`throughput`: rows a second on Spark with state of twice the limit, over those without a limit, in alternating rounds.
`large`: the steps of a query with 100 million rows of state in four units of 256 MB.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from benchmarks.memory.cgroups import NoCgroup
from benchmarks.memory.large import Large, On
from benchmarks.memory.limited import limited
from benchmarks.memory.measuring import sampled, sampled_large
from benchmarks.memory.scenarios import SCENARIOS, UNITS

MEGABYTE = 1 << 20


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.memory", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    kinds = parser.add_subparsers(dest="what", required=True)
    for name, times in (("limit", 5.0), ("cgroup", 5.0), ("throughput", 2.0)):
        own = kinds.add_parser(name)
        own.add_argument("--on", choices=["process", "spark"], action="append")
        own.add_argument("--scenario", choices=list(SCENARIOS), action="append")
        own.add_argument("--limit-mb", type=int, default=32)
        own.add_argument("--times", type=float, default=times, help="the state, in multiples of the limit of all units")
        own.add_argument("--rounds", type=int, default=3)
        own.add_argument("--scratch", help="a directory for checkpoints; a temporary one by default")
    large = kinds.add_parser("large")
    large.add_argument("--on", choices=["process", "spark"], default="process")
    large.add_argument("--rows", type=int, default=50_000_000, help="of each stream")
    large.add_argument("--steps", type=int, default=200)
    large.add_argument("--units", type=int, default=4)
    large.add_argument("--limit-mb", type=int, default=256)
    large.add_argument("--scratch")
    given = parser.parse_args()
    if given.what == "large":
        show_large(Large(given.rows, given.steps, given.units, given.limit_mb * MEGABYTE), given.on, given.scratch)
    elif given.what == "throughput":
        for name in given.scenario or ["partitioned"]:
            show_throughput(name, given.limit_mb, given.times, given.rounds, given.scratch)
    else:
        show = show_limit if given.what == "limit" else show_cgroup
        for on in given.on or ["process", "spark"]:
            for name in given.scenario or list(SCENARIOS):
                show(on, name, given.limit_mb, given.times, given.scratch)


def show_limit(on: On, name: str, limit_mb: int, times: float, scratch: str | None) -> None:
    found = sampled(on, name, limit_mb * MEGABYTE, int(times * UNITS * limit_mb * MEGABYTE), scratch)
    print(
        f"{on:7} {name:12} {found['units']} x {limit_mb} MB: largest {found['largest'] / MEGABYTE:6.1f} MB "
        f"({found['share']:.2f} of the limit), kernel's peak {found['peak'] / MEGABYTE:6.1f} MB, "
        f"state {found['state'] / MEGABYTE:,.0f} MB, {found['per_second']:.0f} samples/s, longest gap "
        f"{1000 * found['longest_gap']:.0f} ms, {found['processes']} workers, {found['cleanUps']} steps without input, "
        f"pushed {found['pushed'] / MEGABYTE:,.0f} MB, opened of it {found['openedBytes']:,}, {_reads(found)}",
        flush=True,
    )


def show_cgroup(on: On, name: str, limit_mb: int, times: float, scratch: str | None) -> None:
    try:
        found = limited(on, name, limit_mb * MEGABYTE, int(times * UNITS * limit_mb * MEGABYTE), scratch)
    except NoCgroup as error:
        sys.exit(f"No cgroup can be made here: {error}")
    where = (
        f"{on:7} {name:12} in {found['allowed'] / MEGABYTE:.1f} MB, {found['idle'] / MEGABYTE:.1f} of them for idle "
        f"workers: {found['kills']} kills, {found['major_faults_of_group']:,} major faults"
    )
    if found["ended_with"]:
        print(f"{where}, ENDED WITH {found['ended_with']}", flush=True)
    else:
        print(f"{where}, state {found['state'] / MEGABYTE:,.0f} MB, {_reads(found)}", flush=True)


def show_throughput(name: str, limit_mb: int, times: float, rounds: int, scratch: str | None) -> None:
    """By the seconds of the last quarter of the steps, when the state has nearly its full size."""
    ratios, state = [], int(times * UNITS * limit_mb * MEGABYTE)
    for number in range(rounds):
        seconds = {}
        for limit in (limit_mb * MEGABYTE, 0) if number % 2 == 0 else (0, limit_mb * MEGABYTE):
            found = sampled("spark", name, limit, state, scratch)
            last = found["stepSeconds"][-max(1, len(found["stepSeconds"]) // 4) :]
            seconds[limit] = statistics.mean(last)
            what = f"{UNITS} x {limit_mb} MB" if limit else "no limit"
            rate = 2 * found["rows"] / seconds[limit]
            print(f"spark {name} {what}: {rate:,.0f} rows/s in the last steps, {_reads(found)}", flush=True)
        ratios.append(seconds[0] / seconds[limit_mb * MEGABYTE])
    each = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"spark {name}: with the limit {statistics.median(ratios):.2f} of the rows a second without it ({each})")


def show_large(large: Large, on: On, scratch: str | None) -> None:
    found = sampled_large(large, on, scratch)
    print(
        f"{on}: {found['stateRows']:,} rows ({found['stateBytes'] / MEGABYTE:,.0f} MB) in {large.units} units of "
        f"{large.limit / MEGABYTE:,.0f} MB; {found['steps']} steps of {2 * large.rows_a_step:,} rows: median "
        f"{found['median']:.2f} s, p99 {found['p99']:.2f} s ({found['ratio']:.2f} x), most {found['longest']:.2f} s; "
        f"of CPU {found['medianCpu']:.2f} and {found['p99Cpu']:.2f} s ({found['ratioCpu']:.2f} x); largest sample "
        f"{found['largest'] / MEGABYTE:,.0f} MB ({found['share']:.2f} of the limit), {found['per_second']:.0f} "
        f"samples/s; {found['results']:,} results, kernel's peak {found['peak'] / MEGABYTE:,.0f} MB, "
        f"{found['deviceBytes'] / MEGABYTE:,.0f} MB from devices, {found['majorFaults']:,} major faults"
    )


def _reads(found: dict[str, Any]) -> str:
    right = "right" if found["results"] == found["expected"] else f"WRONG, expected {found['expected']:,}"
    return (
        f"{found['deviceBytes'] / MEGABYTE:,.0f} MB from devices, {found['majorFaults']:,} major faults, "
        f"{found['results']:,} results ({right}), {found['seconds']:.1f} s, {found['cpu']:.1f} s of CPU"
    )


if __name__ == "__main__":
    main()
