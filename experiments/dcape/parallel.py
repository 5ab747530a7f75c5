"""Figures 6 and 7 on the engine: what more units cost where one is enough, and how long memory lasts otherwise."""

from __future__ import annotations

from itertools import pairwise

from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.dcape import engine
from experiments.dcape.counted import COMPLETE, over_time, without_limit
from experiments.dcape.runs import a_run, even
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture

MINUTES, UNITS = 40, (1, 2, 3, 4, 5)
SMALL_RATIO, LARGE_RATIO = 1, 2
LARGE_LIMIT = 0.28
"""The memory of a unit, as a share of all rows: four units have enough, three have not."""
NEGLIGIBLE = 1.25
"""So many times the CPU time of one unit, with five, count as negligible."""
FIXED = (
    "Every unit has tasks of its own in every step, and a task takes some milliseconds however few rows it has. With "
    "the few rows of these steps that is most of the time."
)


def measure_parallel(size: Size) -> Measured:
    found: Measured = {name: {str(units): [] for units in UNITS} for name in ("small", "large")}
    for name, ratio in (("small", SMALL_RATIO), ("large", LARGE_RATIO)):
        for seed in range(size.seeds):
            for units in UNITS:
                run = a_run(size.engine, (ratio,) * size.groups, MINUTES, seed, even(size.groups, units))
                found[name][str(units)].append(without_limit(run))
    return found


def overflow_minute(one: Measured, all_bytes: int) -> float | None:
    """When the fullest unit first has more than its memory; None: never."""
    points = one["used_by_time"]
    over = [place for place, used in enumerate(points) if used > LARGE_LIMIT * all_bytes]
    return MINUTES * (over[0] + 1) / len(points) if over else None


def minutes_of(measured: Measured, units: int) -> list[float | None]:
    large = measured["large"]
    return [
        overflow_minute(one, whole["bytes"]) for one, whole in zip(large[str(units)], large[str(UNITS[0])], strict=True)
    ]


def _changes_little(measured: Measured) -> Verdict:
    """By the CPU time of all tasks, for the same results."""
    few, many = (measured["small"][str(units)] for units in (UNITS[0], UNITS[-1]))
    cpu = Ratio.of([one["cpu"] for one in many], [one["cpu"] for one in few])
    same = all(a["results_by_time"] == b["results_by_time"] for a, b in zip(few, many, strict=True))
    here = f"{cpu} times the CPU time of tasks with {UNITS[-1]} units, {'the same' if same else 'other'} results"
    return Verdict(here, cpu.below(NEGLIGIBLE) if same else False, FIXED)


def _lasts_longer(measured: Measured) -> Verdict:
    by_units = [minutes_of(measured, units) for units in UNITS]
    lasting = [[MINUTES * 2 if minute is None else minute for minute in one] for one in by_units]
    later = [agreed(b > a or a > MINUTES for a, b in zip(few, more, strict=True)) for few, more in pairwise(lasting)]
    enough = agreed(minute is None for one in by_units[-2:] for minute in one)
    said = ", ".join("never" if one[0] is None else f"{one[0]:.0f} min" for one in by_units)
    return Verdict(f"{said} with 1 to {UNITS[-1]} units", all_of(*later, enough))


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Counted on the engine in one process: {settings['size.groups']} groups, {MINUTES} minutes of input, steps of "
        f"{settings['size.engine_step_seconds']} s, without adaptations. The small query has a ratio of {SMALL_RATIO} "
        f"and all memory; the large one has {LARGE_RATIO}, and units with memory for {LARGE_LIMIT:.0%} of its rows. A "
        f"query of ours goes on where the paper's ends for lack of memory, so the time is that of the first sample "
        f"above the limit. Figure 6 has rows twice as often as Figures 9 to 21, Figure 7 three times; here the rate is "
        f"the same in all."
    )


def _table(measured: Measured) -> list[Table]:
    rows = []
    for units in UNITS:
        small, large, minute = (
            *(measured[n][str(units)][0] for n in ("small", "large")),
            minutes_of(measured, units)[0],
        )
        cells = (f"{small['results']:,}", f"{small['cpu']:.2f}", f"{large['results']:,}")
        rows.append((str(units), *cells, "never" if minute is None else f"{minute:.1f}"))
    headings = ("units", "results, small", "CPU seconds, small", "results, large", "minute above the limit, large")
    return [Table(headings, tuple(rows), "The first of the rounds")]


def _pictures(measured: Measured) -> list[Picture]:
    runs = {f"{units} units": measured["large"][str(units)][0] for units in UNITS}
    return [over_time("memory", "Bytes of the fullest unit, large query", MINUTES, runs, "used_by_time", "bytes")]


PARALLEL = Experiment(
    "parallel",
    "Small and large queries at one to five units",
    ("Figure 6", "Figure 7"),
    measure_parallel,
    _describe,
    (
        Claim(
            "changes little", "where memory is enough, more units cost next to nothing", "negligible", _changes_little
        ),
        Claim(
            "lasts longer",
            "with more units memory lasts longer, and with four for the whole run",
            "25 min with one, 35 with two, all 40 with four and five",
            _lasts_longer,
        ),
        COMPLETE,
    ),
    _table,
    _pictures,
    modules=(engine,),
)
