"""Figures 20 and 21 on the engine: pushes and moves together, at three units."""

from __future__ import annotations

from braid.control.memory.settings import MemorySettings
from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.dcape import engine, integrated
from experiments.dcape.counted import COMPLETE, OPENS_NOTHING, counted, expected_results, over_time, without_limit
from experiments.dcape.engine import run_engine
from experiments.dcape.moves import SKEWED
from experiments.dcape.runs import a_run, contiguous, even
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture

MINUTES, RATIO = integrated.MINUTES, integrated.RATIO
LIMITS = integrated.LAZY_LIMITS
ACTIVE_LIMIT = 0.15
CHOSEN = ("lazy", "active")


def measure_lazy(size: Size) -> Measured:
    """From a skewed assignment: pushes alone, and with moves."""
    found: Measured = {"whole": [], "limits": {str(limit): {"none": [], "lazy": []} for limit in LIMITS}}
    for seed in range(size.seeds):
        owners = contiguous(size.groups, SKEWED)
        run = a_run(size.engine, (RATIO,) * size.groups, MINUTES, seed, owners)
        whole = without_limit(run)
        found["whole"].append(whole)
        for limit in LIMITS:
            for policy, balance in (("none", 0.0), ("lazy", 0.8)):
                settings = MemorySettings(int(limit * whole["bytes"]), balance=balance)
                one = counted(run_engine(run, settings), run, settings, expected_results(run))
                found["limits"][str(limit)][policy].append(one)
    return found


def measure_active(size: Size) -> Measured:
    """The groups of one unit are much more productive than those of the others."""
    owners = even(size.groups, len(integrated.ACTIVE_RATIOS))
    ratios = [integrated.ACTIVE_RATIOS[unit] for unit in owners.tolist()]
    found: Measured = {"whole": [], "limits": {str(ACTIVE_LIMIT): {name: [] for name in CHOSEN}}}
    for seed in range(size.seeds):
        run = a_run(size.engine, ratios, MINUTES, seed, owners)
        whole = without_limit(run)
        found["whole"].append(whole)
        for name in CHOSEN:
            limit, every = int(ACTIVE_LIMIT * whole["bytes"]), integrated.SAMPLE_MS
            settings = MemorySettings(limit, "active-disk", rate_ratio=integrated.RATE_RATIO, sample_every_ms=every)
            ran = run_engine(run, settings, decide=integrated.POLICIES[name])
            found["limits"][str(ACTIVE_LIMIT)][name].append(counted(ran, run, settings, expected_results(run)))
    return found


def _cleans_up_sooner(measured: Measured) -> Verdict:
    """By the unit whose lookups take longest: units clean up at the same time."""
    by = measured["limits"][str(LIMITS[-1])]
    ratio = Ratio.of(*([max(one["clean_up_cpu"]) for one in by[name]] for name in ("none", "lazy")))
    return Verdict(f"{ratio} times the CPU time of the busiest unit without moves", ratio.above(1))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Counted on the engine in one process: {settings['size.groups']} groups at three units, {MINUTES} minutes of "
        f"input, steps of {settings['size.engine_step_seconds']} s. Limits are shares of all rows. The time of a "
        f"clean-up is modelled as the CPU time of the busiest unit's lookups: here all units share one process."
    )


def _table(measured: Measured) -> list[Table]:
    variants = [("all in memory", measured["whole"][0])]
    variants += [
        (f"{float(limit):.0%}, {'pushes alone' if name == 'none' else name}", runs[0])
        for limit, by in measured["limits"].items()
        for name, runs in by.items()
    ]
    rows = [
        (
            name,
            f"{one['results']:,}",
            f"{sum(one['deferred']):,}",
            str(one["spills"]),
            str(one["relocations"]),
            f"{sum(one['reread']):,}",
            f"{max(one['clean_up_cpu']):.2f}",
        )
        for name, one in variants
    ]
    headings = (
        "memory, policy",
        "results before clean-up",
        "of clean-up",
        "pushes",
        "moves",
        "bytes that clean-up reads",
        "its CPU seconds, busiest unit",
    )
    return [Table(headings, tuple(rows), "The first of the rounds")]


def _pictures_of_lazy(measured: Measured) -> list[Picture]:
    by = measured["limits"][str(LIMITS[0])]
    runs = {"pushes alone": by["none"][0], "with moves": by["lazy"][0]}
    return [over_time("results", "Results so far", MINUTES, runs, "results_by_time", "results")]


def _pictures_of_active(measured: Measured) -> list[Picture]:
    runs = {f"{name}-disk": runs[0] for name, runs in measured["limits"][str(ACTIVE_LIMIT)].items()}
    return [over_time("results", "Results so far", MINUTES, runs, "results_by_time", "results")]


PUSHES_AND_MOVES = Experiment(
    "pushes_and_moves",
    "Pushes with moves and without, from a skewed assignment",
    ("Figure 20",),
    measure_lazy,
    _describe,
    (
        Claim(
            "finds more",
            "lazy-disk finds more than pushes alone",
            "much higher",
            lambda measured: integrated.finds_more(measured["limits"]),
        ),
        Claim("cleans up sooner", "and cleans up sooner", "§6.1: under 400 s, over 1,600 s", _cleans_up_sooner),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table,
    _pictures_of_lazy,
    modules=(integrated, engine),
)
ACTIVE_PUSHES = Experiment(
    "active_pushes",
    "Active-disk beside lazy-disk",
    ("Figure 21",),
    measure_active,
    _describe,
    (
        Claim(
            "overtakes",
            "active-disk finds more in the long run",
            "Fig. 21",
            lambda measured: integrated.overtakes(measured["limits"]),
        ),
        Claim(
            "drops first",
            "after its first forced push it finds less for a while",
            "Fig. 21",
            lambda measured: integrated.drops_first(measured["limits"]),
        ),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table,
    _pictures_of_active,
    modules=(integrated, engine),
)
