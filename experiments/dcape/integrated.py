"""Figures 20 and 21 and the long run of §6.1: spills and moves together, modelled for three units."""

from __future__ import annotations

import numpy as np

from braid.control.memory.active_disk import decide_active_disk
from braid.control.memory.decisions import Decided
from braid.control.memory.groups import MemoryState
from braid.control.memory.lazy_disk import decide_lazy_disk
from braid.control.memory.overflow import decide_overflow
from braid.control.memory.settings import MemorySettings
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.dcape.model import Decide, run_model
from experiments.dcape.runs import a_run, even, limit_of, recorded, skewed
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table

MINUTES, LONG_MINUTES, RATIO = 60, 360, 3
LAZY_LIMITS, LONG_LIMIT = (0.3, 0.2), 0.05
ACTIVE_RATIOS, ACTIVE_LIMITS = (4, 1, 1), (0.2, 0.15, 0.1)
RATE_RATIO, SAMPLE_MS = 2.0, 60_000
SIMILAR, FOUR_TIMES = 0.1, (3.0, 5.0)
FEW_GROUPS = (
    "Without moves the two units with a sixth of the groups each have as much memory as the one with two thirds. Their "
    "groups keep more rows together, and results grow with the third power of these: they find four times as many per "
    "group. Even memory per group finds fewer in all."
)
A_THIRD = (
    "The unit with two thirds of the groups has two thirds of the results to find; evenly divided it has a third. That "
    "makes clean-up twice as short. Four times must have a reason that the number of results does not show."
)


def as_long_again(settings: MemorySettings, state: MemoryState) -> Decided:
    """Active-disk with another estimate: the query is expected to run as long again as it has."""
    interval = max(1, state.now_ms - state.sampled_since_ms)
    growth = max(0, state.live_bytes - state.history.sampled_bytes)
    return decide_active_disk(settings, state, state.live_bytes + growth * state.now_ms // interval)


POLICIES: dict[str, Decide] = {"lazy": decide_lazy_disk, "active": decide_overflow, "as long again": as_long_again}


def measure_lazy(size: Size) -> Measured:
    """With a skewed assignment: spills alone, and with moves; by limit, and in a long run."""
    found: Measured = {}
    for name, minutes, limit in (
        *((str(one), MINUTES, one) for one in LAZY_LIMITS),
        ("long", LONG_MINUTES, LONG_LIMIT),
    ):
        found[name] = {"none": [], "lazy": []}
        for seed in range(size.seeds):
            run = a_run(size, (RATIO,) * size.groups, minutes, seed, skewed(size.groups))
            for policy, balance in (("none", 0.0), ("lazy", 0.8)):
                settings = MemorySettings(limit_of(run, limit), balance=balance)
                found[name][policy].append(recorded(run_model(run, settings), settings, run))
    return found


def measure_active(size: Size) -> Measured:
    """The groups of one unit are much more productive than those of the others."""
    owners = even(size.groups, len(ACTIVE_RATIOS))
    ratios = [ACTIVE_RATIOS[unit] for unit in owners.tolist()]
    found: Measured = {str(limit): {name: [] for name in POLICIES} for limit in ACTIVE_LIMITS}
    for limit in ACTIVE_LIMITS:
        for seed in range(size.seeds):
            run = a_run(size, ratios, MINUTES, seed, owners)
            for name, decide in POLICIES.items():
                settings = MemorySettings(
                    limit_of(run, limit), "active-disk", rate_ratio=RATE_RATIO, sample_every_ms=SAMPLE_MS
                )
                found[str(limit)][name].append(recorded(run_model(run, settings, decide), settings, run))
    return found


def numbers(runs: list[Measured], what: str) -> list[float]:
    return [one[what] for one in runs]


def finds_more(measured: Measured) -> Verdict:
    limits = [str(limit) for limit in LAZY_LIMITS]
    found = [Ratio.of(*(numbers(measured[one][name], "results") for name in ("lazy", "none"))) for one in limits]
    said = ", ".join(
        f"{ratio} times with memory for {float(limit):.0%}" for limit, ratio in zip(limits, found, strict=True)
    )
    return Verdict(said, all_of(*(ratio.above(1) for ratio in found)))


def finds_as_much(measured: Measured) -> Verdict:
    ratio = Ratio.of(*(numbers(measured["long"][name], "results") for name in ("lazy", "none")))
    holds = agreed(abs(one - 1) <= SIMILAR for one in ratio.values)
    return Verdict(f"{ratio} times the results", holds, FEW_GROUPS)


def _cleans_up_sooner(measured: Measured) -> Verdict:
    """By the unit with the most results to find, the last to end."""
    most = [[max(one["deferred"]) for one in measured["long"][name]] for name in ("none", "lazy")]
    ratio = Ratio.of(*most)
    low, high = FOUR_TIMES
    return Verdict(
        f"{ratio} times the results at the busiest unit", agreed(low <= r <= high for r in ratio.values), A_THIRD
    )


def overtakes(measured: Measured) -> Verdict:
    found = {
        limit: Ratio.of(*(numbers(by[name], "results") for name in ("active", "lazy")))
        for limit, by in measured.items()
    }
    said = ", ".join(f"{ratio} times with memory for {float(limit):.0%}" for limit, ratio in found.items())
    return Verdict(said, all_of(*(ratio.above(1) for ratio in found.values())))


def least_share(active: Measured, lazy: Measured) -> float:
    """How far active-disk falls behind at most, as a share of what lazy-disk has found by then."""
    pairs = zip(active["results_by_time"], lazy["results_by_time"], strict=True)
    return float(min(one / other for one, other in pairs if other))


def drops_first(measured: Measured) -> Verdict:
    shares = [
        [least_share(one, other) for one, other in zip(by["active"], by["lazy"], strict=True)]
        for by in measured.values()
    ]
    said = ", ".join(f"{np.median(one):.3f}" for one in shares)
    return Verdict(f"at least {said} of its results", all_of(*(agreed(one < 1 for one in share) for share in shares)))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Modelled: the controllers decide, and results are counted by join values; {settings['size.groups']} groups "
        f"at three units. Limits are shares of what arrives. The long run has {LONG_MINUTES // 60} hours."
    )


def _table(measured: Measured) -> list[Table]:
    rows = [
        (
            f"{limit}, {name}",
            f"{runs[0]['results']:,}",
            f"{max(runs[0]['deferred']):,}",
            str(runs[0]["spills"]),
            str(runs[0]["relocations"]),
        )
        for limit, by in measured.items()
        for name, runs in by.items()
    ]
    headings = ("memory, policy", "results before clean-up", "of clean-up, busiest unit", "spills", "moves")
    return [Table(headings, tuple(rows), "The first of the rounds")]


LAZY = Experiment(
    "lazy_disk",
    "Spills with moves and without, from a skewed assignment, modelled",
    ("Figure 20", "§6.1"),
    measure_lazy,
    _describe,
    (
        Claim("finds more", "lazy-disk finds more than spills alone", "much higher", finds_more),
        Claim("as much", "in a long run with little memory both find as much", "similar", finds_as_much),
        Claim(
            "cleans up sooner",
            "its clean-up is then four times as short",
            "under 400 s, over 1,600 s",
            _cleans_up_sooner,
        ),
    ),
    _table,
)
ACTIVE = Experiment(
    "active_disk",
    "Active-disk beside lazy-disk, modelled",
    ("Figure 21",),
    measure_active,
    _describe,
    (
        Claim("overtakes", "active-disk finds more in the long run", "Fig. 21", overtakes),
        Claim("drops first", "after its first spill it finds less for a while", "Fig. 21", drops_first),
    ),
    _table,
)
