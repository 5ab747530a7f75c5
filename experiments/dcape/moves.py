"""Figures 14 to 17 on the engine: when groups move, how even that makes memory, what it costs, and what it saves."""

from __future__ import annotations

from functools import partial

from braid.control.memory.settings import MemorySettings
from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.dcape import balance, engine
from experiments.dcape.counted import COMPLETE, OPENS_NOTHING, counted, expected_results, over_time, without_limit
from experiments.dcape.engine import BYTES_A_SECOND, run_engine
from experiments.dcape.model import Run
from experiments.dcape.runs import UNLIMITED, a_run, contiguous
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture

MINUTES, RATIO = balance.MINUTES, balance.RATIO
SKEWED = (2 / 3, 1 / 6, 1 / 6)
CHEAP = 1.1
"""Tasks with moves may take so many times the CPU time of tasks without."""
OPENED_TWICE = (
    "Cost of moves: groups change their owner and rows stay, so a segment whose groups have been divided between units "
    "is opened by the tasks of both, in every later step. With the few rows of these steps that is most of their time."
)


def measure_alternating(size: Size) -> Measured:
    found: Measured = {
        "none": [],
        "balance": {str(b): [] for b in balance.BALANCES},
        "every": {str(i): [] for i in balance.INTERVALS_MS},
    }
    for seed in range(size.seeds):
        run = balance.alternating(size.moving, seed)
        found["none"].append(_moved(run, 0.0, balance.INTERVAL_MS))
        for one in balance.BALANCES:
            found["balance"][str(one)].append(_moved(run, one, balance.INTERVAL_MS))
        for interval in balance.INTERVALS_MS[:-1]:
            found["every"][str(interval)].append(_moved(run, balance.TIGHT, interval))
        # The tightest balance with the longest interval was measured above.
        found["every"][str(balance.INTERVAL_MS)].append(found["balance"][str(balance.TIGHT)][-1])
    return found


def _moved(run: Run, least: float, interval_ms: int) -> Measured:
    settings = MemorySettings(UNLIMITED, balance=least, min_interval_ms=interval_ms)
    return counted(run_engine(run, settings), run, settings, expected_results(run))


def measure_skewed(size: Size) -> Measured:
    found: Measured = {"whole": [], "none": [], "moves": []}
    for seed in range(size.seeds):
        owners = contiguous(size.groups, SKEWED)
        run = a_run(size.engine, (RATIO,) * size.groups, MINUTES, seed, owners)
        whole = without_limit(run)
        found["whole"].append(whole)
        for name, least in (("none", 0.0), ("moves", 0.8)):
            limit = int(balance.SKEWED_LIMIT * whole["bytes"])
            settings = MemorySettings(limit, balance=least, min_interval_ms=balance.INTERVAL_MS)
            found[name].append(counted(run_engine(run, settings), run, settings, expected_results(run)))
    return found


def _is_cheap(measured: Measured) -> Verdict:
    """By the CPU time of all tasks, with the most moves and without."""
    most = measured["every"][str(balance.INTERVALS_MS[0])]
    cpu = Ratio.of(balance.numbers(most, "cpu"), balance.numbers(measured["none"], "cpu"))
    equal = all(a["results"] == b["results"] for a, b in zip(most, measured["none"], strict=True))
    transfer = most[0]["transfer_seconds"]
    here = (
        f"{cpu} times the CPU time for the same results; their bytes would take {transfer:.2f} s at "
        f"{BYTES_A_SECOND * 8 // 10**9} Gbit/s"
    )
    return Verdict(here, cpu.below(CHEAP) if equal else False, OPENED_TWICE)


def _describe(measured: Measured, settings: Settings, seconds: str = "move_step_seconds") -> str:
    return (
        f"Counted on the engine in one process: {settings['size.groups']} groups, {MINUTES} minutes of input, steps of "
        f"{settings[f'size.{seconds}']} s. A move changes the owner of groups, and their blocks stay in "
        f"place; what the paper would send is modelled from their bytes."
    )


def _table(measured: Measured) -> list[Table]:
    variants = [("none", measured["none"])]
    variants += [(f"below {least}, every 45 s", runs) for least, runs in measured["balance"].items()]
    variants += [(f"below {balance.TIGHT}, every {int(i) // 1000} s", runs) for i, runs in measured["every"].items()]
    rows = [
        (
            name,
            f"{one['relocations']}",
            f"{one['moved_share']:.2f}",
            f"{one['transfer_seconds']:.3f}",
            f"{one['spread_90']:.2f}",
            f"{one['spread_most']:.2f}",
            f"{one['cpu']:.2f}",
        )
        for name, (one, *_) in variants
    ]
    headings = (
        "moves",
        "how many",
        "bytes moved, of all",
        "seconds to send them, modelled",
        "fullest over emptiest unit, 90th percentile after the first move",
        "at most",
        "CPU seconds of tasks",
    )
    return [Table(headings, tuple(rows), "The first of the rounds")]


def _table_of_skewed(measured: Measured) -> list[Table]:
    rows = [
        (name, f"{one['results']:,}", str(one["spills"]), str(one["relocations"]), f"{one['fullest']:.2f}")
        for name, (one, *_) in (("without moves", measured["none"]), ("with moves", measured["moves"]))
    ]
    headings = ("run", "results before clean-up", "pushes", "moves", "fullest, of the limit")
    return [Table(headings, tuple(rows), "The first of the rounds")]


def _pictures(measured: Measured) -> list[Picture]:
    fast = measured["every"][str(balance.INTERVALS_MS[0])][0]
    runs = {"without moves": measured["none"][0], "with moves": fast}
    return [over_time("memory", "Bytes of the fuller unit", MINUTES, runs, "used_by_time", "bytes")]


def _pictures_of_skewed(measured: Measured) -> list[Picture]:
    runs = {"without moves": measured["none"][0], "with moves": measured["moves"][0]}
    return [over_time("results", "Results so far", MINUTES, runs, "results_by_time", "results")]


MOVES = Experiment(
    "moves",
    "Load that alternates between two units",
    ("Figure 14", "Figure 15", "Figure 16"),
    measure_alternating,
    _describe,
    (
        Claim(
            "more often",
            "a tighter balance makes more moves, and smaller ones",
            "24 beside 2",
            balance.moves_more_often,
        ),
        Claim(
            "by interval",
            "the shorter the least time between moves, the more there are",
            "31, 27 and 24 with 15, 30 and 45 s",
            balance.moves_with_the_interval,
        ),
        Claim(
            "even",
            "moves keep the fullest unit within 1.3 times the emptiest in nine tenths of the time, where it is 3 times "
            "without",
            "Fig. 16",
            balance.is_even,
        ),
        Claim("cheap", "moves cost little: throughput is as without", "Fig. 14, 15", _is_cheap),
        COMPLETE,
    ),
    _table,
    _pictures,
    modules=(balance, engine),
)
SKEWED_MOVES = Experiment(
    "skewed_moves",
    "Most groups at one of three units, with memory for all at three",
    ("Figure 17",),
    measure_skewed,
    partial(_describe, seconds="engine_step_seconds"),
    (
        Claim("keeps finding", "with moves nothing is pushed, and more is found", "Fig. 17", balance.keeps_finding),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table_of_skewed,
    _pictures_of_skewed,
    modules=(balance, engine),
)
