"""Figures 14 to 17: when groups move, how even that makes memory, and what it saves, modelled."""

from __future__ import annotations

from itertools import pairwise

from braid.control.memory.settings import MemorySettings
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.dcape.input import alternating_load
from experiments.dcape.model import Run, run_model
from experiments.dcape.runs import UNLIMITED, a_run, even, limit_of, recorded, skewed
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table

MINUTES, RATIO = 60, 3
FACTOR, FIRST_MINUTES, THEN_MINUTES = 10, 5, 10
BALANCES, INTERVAL_MS = (0.5, 0.7, 0.8, 0.9), 45_000
INTERVALS_MS, TIGHT = (15_000, 30_000, 45_000), 0.9
SKEWED_LIMIT = 0.45
"""Two thirds of what arrives do not fit in one unit, a third of it fits in each of three."""
EVEN_ENOUGH, UNEVEN = 1.3, 3.0
DIVIDED = (
    "The groups that get many rows at the same time begin at one unit. If the first moves leave groups of both kinds "
    "at both units, little has to move later; in some rounds moves every 15 s do that within the first minute."
)


def measure_alternating(size: Size) -> Measured:
    found: Measured = {
        "none": [],
        "balance": {str(b): [] for b in BALANCES},
        "every": {str(i): [] for i in INTERVALS_MS},
    }
    for seed in range(size.seeds):
        run = alternating(size, seed)
        found["none"].append(_settled(run, 0.0, INTERVAL_MS))
        for balance in BALANCES:
            found["balance"][str(balance)].append(_settled(run, balance, INTERVAL_MS))
        for interval in INTERVALS_MS:
            found["every"][str(interval)].append(_settled(run, TIGHT, interval))
    return found


def alternating(size: Size, seed: int) -> Run:
    """The groups of one of two units get ten times the rows of the others, in turn."""
    owners = even(size.groups, 2)
    steps, first, then = (minutes * 60 // size.step_seconds for minutes in (MINUTES, FIRST_MINUTES, THEN_MINUTES))
    load = alternating_load(owners == 0, steps, FACTOR, first, then)
    return a_run(size, (RATIO,) * size.groups, MINUTES, seed, owners, load)


def _settled(run: Run, balance: float, interval_ms: int) -> Measured:
    settings = MemorySettings(UNLIMITED, balance=balance, min_interval_ms=interval_ms)
    return recorded(run_model(run, settings), settings, run)


def measure_skewed(size: Size) -> Measured:
    found: Measured = {"none": [], "moves": []}
    for seed in range(size.seeds):
        run = a_run(size, (RATIO,) * size.groups, MINUTES, seed, skewed(size.groups))
        for name, balance in (("none", 0.0), ("moves", 0.8)):
            settings = MemorySettings(limit_of(run, SKEWED_LIMIT), balance=balance, min_interval_ms=INTERVAL_MS)
            found[name].append(recorded(run_model(run, settings), settings, run))
    return found


def numbers(runs: list[Measured], what: str) -> list[float]:
    return [one[what] for one in runs]


def moves_more_often(measured: Measured) -> Verdict:
    """More moves with a tighter balance, and smaller ones."""
    loose, tight = (measured["balance"][str(balance)] for balance in (BALANCES[0], BALANCES[-1]))
    counts = Ratio.of(numbers(tight, "relocations"), numbers(loose, "relocations"))
    each = [[one["moved_share"] / one["relocations"] for one in runs] for runs in (tight, loose)]
    amounts = Ratio.of(*each)
    here = f"{tight[0]['relocations']} beside {loose[0]['relocations']}, each {amounts} times as large"
    return Verdict(here, all_of(counts.above(1), amounts.below(1)))


def moves_with_the_interval(measured: Measured) -> Verdict:
    counts = [numbers(measured["every"][str(interval)], "relocations") for interval in INTERVALS_MS]
    falls = [agreed(a > b for a, b in zip(one, other, strict=True)) for one, other in pairwise(counts)]
    return Verdict(", ".join(f"{one[0]:g}" for one in counts), all_of(*falls), DIVIDED)


def is_even(measured: Measured) -> Verdict:
    """By the 90th percentile after the first move; without moves by the largest after the first minute."""
    fast = measured["every"][str(INTERVALS_MS[0])]
    after, without = numbers(fast, "spread_90"), numbers(measured["none"], "spread_most")
    here = f"at most {max(after):.2f} times in nine tenths of the samples, {min(without):.1f} times without moves"
    holds = all_of(agreed(one <= EVEN_ENOUGH for one in after), agreed(one >= UNEVEN for one in without))
    return Verdict(here, holds)


def keeps_finding(measured: Measured) -> Verdict:
    gain = Ratio.of(numbers(measured["moves"], "results"), numbers(measured["none"], "results"))
    spills = [max(numbers(measured[name], "spills")) for name in ("moves", "none")]
    here = f"{gain} times the results, with {spills[0]:g} spills beside {spills[1]:g}"
    return Verdict(here, all_of(gain.above(1), spills[0] == 0))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Modelled: the controllers decide, and results are counted by join values; {settings['size.groups']} groups, "
        f"{MINUTES} minutes of input. Moves take no time in the model, so that they are cheap is not measured here."
    )


def _table(measured: Measured) -> list[Table]:
    variants = [("none", measured["none"])]
    variants += [(f"below {balance}, every 45 s", runs) for balance, runs in measured["balance"].items()]
    variants += [(f"below {TIGHT}, every {int(i) // 1000} s", runs) for i, runs in measured["every"].items()]
    rows = [
        (name, f"{one['relocations']}", f"{one['moved_share']:.2f}", f"{one['spread_90']:.2f}")
        for name, (one, *_) in variants
    ]
    headings = ("moves", "how many", "bytes moved, of all", "fullest over emptiest unit, 90th percentile")
    return [Table(headings, tuple(rows), "The first of the rounds")]


ALTERNATING = Experiment(
    "alternating",
    "Load that alternates between two units, modelled",
    ("Figure 14", "Figure 15", "Figure 16"),
    measure_alternating,
    _describe,
    (
        Claim("more often", "a tighter balance makes more moves, and smaller ones", "24 beside 2", moves_more_often),
        Claim(
            "by interval",
            "the shorter the least time between moves, the more there are",
            "31, 27 and 24 with 15, 30 and 45 s",
            moves_with_the_interval,
        ),
        Claim("even", "moves make the memory of the units even", "Fig. 16", is_even),
    ),
    _table,
)
SKEWED = Experiment(
    "skewed",
    "Most groups at one of three units, with memory for all at three, modelled",
    ("Figure 17",),
    measure_skewed,
    _describe,
    (Claim("keeps finding", "with moves nothing is spilled, and more is found", "Fig. 17", keeps_finding),),
)
