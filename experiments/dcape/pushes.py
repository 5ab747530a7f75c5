"""Figures 9 to 12 on the engine: how much is pushed at once, and which groups, at one unit."""

from __future__ import annotations

from braid.control.memory.settings import MemorySettings, Victims
from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.dcape import engine, victims
from experiments.dcape.counted import (
    COMPLETE,
    OPENS_NOTHING,
    counted,
    expected_results,
    most_bytes,
    over_time,
    without_limit,
)
from experiments.dcape.engine import run_engine
from experiments.dcape.input import thirds
from experiments.dcape.model import Run
from experiments.dcape.runs import a_run
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture

MINUTES, LIMIT = victims.MINUTES, 0.5
"""The memory of the unit, as a share of all rows: the paper's rows have no size."""
SHARES, SHARES_RATIO = victims.SHARES, victims.SHARES_RATIO
CHOSEN: tuple[Victims, ...] = ("unproductive", "productive")
WINDOW_MINUTES, WINDOW_LIMIT = 20, 0.6


def measure_shares(size: Size) -> Measured:
    found: Measured = {"none": [], "limits": {str(LIMIT): {str(share): [] for share in SHARES}}}
    for seed in range(size.seeds):
        run = a_run(size.engine, (SHARES_RATIO,) * size.groups, MINUTES, seed)
        whole = without_limit(run)
        found["none"].append(whole)
        for share in SHARES:
            limit = int(LIMIT * most_bytes(whole))
            settings = MemorySettings(
                limit, spill_share=share, victims="random", seed=seed, inactive_after_ms=victims.INACTIVE_MS
            )
            ran = run_engine(run, settings)
            found["limits"][str(LIMIT)][str(share)].append(counted(ran, run, settings, expected_results(run)))
    return found


def measure_victims(size: Size) -> Measured:
    found: Measured = {"none": {}}
    for name, ratios in (("mixed", victims.MIXED), ("same", victims.SAME)):
        found["none"][name], found[name] = [], {str(LIMIT): {chosen: [] for chosen in CHOSEN}}
        for seed in range(size.seeds):
            run = a_run(size.engine, thirds(size.groups, ratios), MINUTES, seed)
            whole = without_limit(run)
            found["none"][name].append(whole)
            for chosen in CHOSEN:
                one = pushed(run, int(LIMIT * most_bytes(whole)), chosen, expected_results(run))
                found[name][str(LIMIT)][chosen].append(one)
    return found


def measure_windowed(size: Size) -> Measured:
    """The mixed ratios again, with windows: rows expire, and deferred results are found while the run goes on."""
    found: Measured = {"none": [], "mixed": {str(WINDOW_LIMIT): {chosen: [] for chosen in CHOSEN}}}
    for seed in range(size.seeds):
        run = a_run(size.engine, thirds(size.groups, victims.MIXED), MINUTES, seed)
        whole = without_limit(run, WINDOW_MINUTES)
        found["none"].append(whole)
        for chosen in CHOSEN:
            limit = int(WINDOW_LIMIT * max(whole["used_by_time"]))
            one = pushed(run, limit, chosen, whole["results"], WINDOW_MINUTES)
            found["mixed"][str(WINDOW_LIMIT)][chosen].append(one)
    return found


def pushed(run: Run, limit: int, chosen: Victims, expected: int, window_minutes: int | None = None) -> Measured:
    """A run that pushes groups of one kind."""
    settings = MemorySettings(limit, victims=chosen, inactive_after_ms=victims.INACTIVE_MS)
    return counted(run_engine(run, settings, window_minutes=window_minutes), run, settings, expected)


def _leaves_more(measured: Measured) -> Verdict:
    """By the results, as the paper counts them; the bytes are said beside."""
    by = measured["mixed"][str(LIMIT)]
    results, read = (
        Ratio.of(*(victims.numbers(by[chosen], what) for chosen in ("productive", "unproductive")))
        for what in ("deferred", "reread")
    )
    return Verdict(f"{results} times the results, of {read} times the bytes", results.above(1))


def _cleans_up_sooner(measured: Measured) -> Verdict:
    """By the CPU time of the lookups of the clean-up."""
    by = measured["mixed"][str(LIMIT)]
    seconds = [[sum(one["clean_up_cpu"]) for one in by[chosen]] for chosen in ("productive", "unproductive")]
    ratio = Ratio.of(*seconds)
    return Verdict(f"{ratio} times the CPU time of lookups", ratio.above(1), FEW)


FEW = (
    "Clean-up here reads and looks up the rows of pushed groups, which are as many with either kind of victims, and "
    "most of its time does not depend on how many results that finds. The paper joins them tuple by tuple."
)


def _windowed_finds_more(measured: Measured) -> Verdict:
    by = measured["mixed"][str(WINDOW_LIMIT)]
    ratio = Ratio.of(*(victims.numbers(by[chosen], "results") for chosen in CHOSEN))
    return Verdict(f"{ratio} times the results before the last clean-up", ratio.above(1))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Counted on the engine in one process: {settings['size.groups']} groups, {MINUTES} minutes of input at one "
        f"unit with memory for {LIMIT:.0%} of it, steps of {settings['size.engine_step_seconds']} s. The unit pushes "
        f"above nine tenths of its memory. Throughput is results so far."
    )


def _describe_windowed(measured: Measured, settings: Settings) -> str:
    return (
        f"Counted on the engine in one process, with windows of {WINDOW_MINUTES} minutes and memory for "
        f"{WINDOW_LIMIT:.0%} of what is live at most: the paper has no windows. Deferred results are also found "
        f"between steps, where memory has room for them again."
    )


def _row(name: str, one: Measured) -> tuple[str, ...]:
    return (
        name,
        f"{one['results']:,}",
        f"{sum(one['deferred']):,}",
        str(one["spills"]),
        f"{one['fullest']:.2f}",
        f"{sum(one['reread']):,}",
        f"{sum(one['clean_up_cpu']):.2f}",
    )


HEADINGS = (
    "run",
    "results before clean-up",
    "of clean-up",
    "pushes",
    "fullest, of the limit",
    "bytes that clean-up reads",
    "its CPU seconds",
)


def _table_of_shares(measured: Measured) -> list[Table]:
    rows = [_row("all in memory", measured["none"][0])]
    rows += [_row(f"{share:.0%} at once", measured["limits"][str(LIMIT)][str(share)][0]) for share in SHARES]
    return [Table(HEADINGS, tuple(rows), "The first of the rounds")]


def _table_of_victims(measured: Measured) -> list[Table]:
    rows = []
    for name in ("mixed", "same"):
        rows.append(_row(f"{name} ratios, all in memory", measured["none"][name][0]))
        rows += [_row(f"{name} ratios, {chosen}", measured[name][str(LIMIT)][chosen][0]) for chosen in CHOSEN]
    return [Table(HEADINGS, tuple(rows), "The first of the rounds")]


def _table_of_windowed(measured: Measured) -> list[Table]:
    rows = [_row("all in memory", measured["none"][0])]
    rows += [_row(chosen, measured["mixed"][str(WINDOW_LIMIT)][chosen][0]) for chosen in CHOSEN]
    return [Table(HEADINGS, tuple(rows), "The first of the rounds")]


def _pictures_of_shares(measured: Measured) -> list[Picture]:
    runs = {"all in memory": measured["none"][0]}
    runs |= {f"{share:.0%} at once": measured["limits"][str(LIMIT)][str(share)][0] for share in SHARES}
    return [
        over_time("results", "Results so far, by what is pushed at once", MINUTES, runs, "results_by_time", "results"),
        over_time("memory", "Bytes in memory, by what is pushed at once", MINUTES, runs, "used_by_time", "bytes"),
    ]


def _pictures_of_victims(measured: Measured) -> list[Picture]:
    runs: dict[str, Measured] = {chosen: measured["mixed"][str(LIMIT)][chosen][0] for chosen in CHOSEN}
    title = "Results so far with ratios 4, 2 and 1, by which groups are pushed"
    return [over_time("mixed", title, MINUTES, runs, "results_by_time", "results")]


PUSH_SHARES = Experiment(
    "push_shares",
    "How much is pushed at once",
    ("Figure 9", "Figure 10"),
    measure_shares,
    _describe,
    (
        Claim(
            "falls",
            "the more is pushed at once, the fewer results are found before clean-up",
            "Fig. 9",
            lambda measured: victims.falls(measured["limits"]),
        ),
        Claim(
            "stays below",
            "memory stays below the limit",
            "Fig. 10",
            lambda measured: victims.stays_below(measured["limits"]),
        ),
        Claim(
            "is rarer",
            "the more is pushed at once, the fewer pushes there are",
            "Fig. 10",
            lambda measured: victims.is_rarer(measured["limits"]),
        ),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table_of_shares,
    _pictures_of_shares,
    modules=(victims, engine),
)
PUSH_VICTIMS = Experiment(
    "push_victims",
    "Which groups are pushed",
    ("Figure 11", "Figure 12"),
    measure_victims,
    _describe,
    (
        Claim(
            "finds more, mixed",
            "with ratios 4, 2 and 1, pushing unproductive groups finds 1.2 times the results of productive ones",
            "much higher",
            lambda measured: victims.finds_more("mixed", victims.LEAST_GAIN, measured),
        ),
        Claim(
            "leaves less",
            "with ratios 4, 2 and 1, pushing productive groups leaves more to clean-up",
            "992,893 results beside 194,308, 5.1 times",
            _leaves_more,
        ),
        Claim(
            "cleans up sooner",
            "and takes longer to clean up",
            "359 s beside 27 s, 13 times",
            _cleans_up_sooner,
        ),
        Claim(
            "finds more, same",
            "with ratio 3 in all groups, pushing unproductive groups finds slightly more as well",
            "slightly",
            lambda measured: victims.finds_more("same", 1.0, measured),
        ),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table_of_victims,
    _pictures_of_victims,
    modules=(victims, engine),
)
PUSH_WINDOWED = Experiment(
    "push_windowed",
    "Which groups are pushed, with windows",
    ("Figure 11",),
    measure_windowed,
    _describe_windowed,
    (
        Claim(
            "finds more",
            "with windows too, pushing unproductive groups finds more results than productive ones",
            "not in the paper",
            _windowed_finds_more,
        ),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table_of_windowed,
    modules=(victims, engine),
)
