"""What is timed: a query of the paper under one of its settings on Spark, and the claims that rates decide."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.tasks import Measurement, Task
from experiments.bistream.models import label, model
from experiments.bistream.queries import EQUAL_VOLUME, QUERIES, TITLES
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.experiment import Table
from experiments.pictures import Picture, Series

SETTINGS = ("JM16", "JB8", "JB16", "JB16-CR4", "JB16-CR8")
KEEPS_UP = 0.9  # of the other's rate
FASTER = (1.2, 1.9)  # Q5 over Q7, about 1.5
MUCH_SLOWER = 0.5
SELECTIONS_COME_FIRST = (
    "Queries: selections run where rows are taken in, so a query that keeps few of its rows brings less to the "
    "join; and "
    "a band is looked up in a sorted index, not compared with every row."
)


def sustained_task(size: Size, query: str, setting: str) -> Task:
    """Batch after batch, as fast as they are taken."""
    options = {"scale_factor": size.timed_scales[query], "batches": size.timed_batches, **EQUAL_VOLUME[query]}
    strategy = model(setting, query).describe()
    return Task("Braid", f"tpch-{query}", options, size.timed_batches, size.timed_warm_up, strategy=strategy)


def paced_task(size: Size, query: str, setting: str) -> Task:
    """The same rows in smaller files, so many a second."""
    task = sustained_task(size, query, setting)
    options = {**task.options, "batches": size.files_in_all}
    rows = sum(feed.second(0).num_rows for feed in replace(task, options=options).workload.feeds)
    return replace(
        task,
        options=options,
        batches=size.paced_files,
        warm_up=size.paced_warm_up,
        mode="paced",
        rows_per_second=float(rows * size.files_per_second),
    )


def recorded(run: Measurement, warm_up: int) -> dict[str, Any]:
    """The counted batches of a run, and the rows that came before them."""
    return {
        "before": sum(run.rows[:warm_up]),
        "rows": list(run.rows[warm_up:]),
        "seconds": [round(one, 4) for one in run.seconds[warm_up:]],
    }


def rates_of(runs: Sequence[Measured]) -> list[float]:
    """Rows a second of each round."""
    return [sum(run["rows"]) / sum(run["seconds"]) for run in runs]


def ratio_of(measured: Measured, query: str, one: str, other: str) -> Ratio:
    return Ratio.of(rates_of(measured[query][one]), rates_of(measured[query][other]))


def _subgroups(query: str, why: str, measured: Measured) -> Verdict:
    four, eight = ratio_of(measured, query, "JB16-CR4", "JB16"), ratio_of(measured, query, "JB16-CR8", "JB16-CR4")
    here = f"4 subgroups over none {four}, 8 over 4 {eight}"
    return Verdict(here, all_of(four.above(1), eight.above(1)), why)


def _random(query: str, why: str, measured: Measured) -> Verdict:
    ratio = ratio_of(measured, query, "JB16", "JM16")
    return Verdict(f"JB16 over JM16 {ratio}", ratio.below(1), why)


def _half(query: str, why: str, measured: Measured) -> Verdict:
    ratio = ratio_of(measured, query, "JB8", "JM16")
    return Verdict(f"JB8 over JM16 {ratio}", ratio.above(KEEPS_UP), why)


def _between(one: str, other: str, measured: Measured) -> Ratio:
    """One query's rate over another's in each round, the mean of the settings."""
    ratios = [Ratio.of(rates_of(measured[one][s]), rates_of(measured[other][s])).values for s in SETTINGS]
    return Ratio(tuple(statistics.fmean(values) for values in zip(*ratios, strict=True)))


def _faster(measured: Measured) -> Verdict:
    ratio = _between("q5", "q7", measured)
    holds = agreed(FASTER[0] < value < FASTER[1] for value in ratio.values)
    return Verdict(f"{ratio} times, mean of the settings", holds, SELECTIONS_COME_FIRST)


def _slower(measured: Measured) -> Verdict:
    ratio = _between("band", "q5", measured)
    return Verdict(f"{ratio} of Q5's rate, mean of the settings", ratio.below(MUCH_SLOWER), SELECTIONS_COME_FIRST)


def rate_claims(why: str) -> tuple[Claim, ...]:
    """What Figures 7 and 8 say of rates while everything is in memory."""
    kinds: tuple[tuple[str, str, str, Callable[..., Verdict]], ...] = (
        ("subgroups", "the more subgroups, the higher the rate", "JB16-CR8 > JB16-CR4 > JB16", _subgroups),
        ("random", "random routing is slower than a matrix of as many units", "JB16 < JM16 (10 GB)", _random),
        ("half", "a biclique of half the units keeps up with a matrix", "JB8 about JM16 (10 GB)", _half),
    )
    found = [
        Claim(f"{query} {name}", f"{TITLES[query]}: {text}", paper, partial(judge, query, why))
        for query in QUERIES
        for name, text, paper, judge in kinds
    ]
    found.append(Claim("faster", "Q5 is faster than Q7", "about 1.5 times", _faster))
    found.append(Claim("slower", "Band is much slower than Q5", "much slower", _slower))
    return tuple(found)


def rate_table(measured: Measured) -> tuple[Table, ...]:
    rows = []
    for query in QUERIES:
        for setting in SETTINGS:
            median = statistics.median(rates_of(measured[query][setting]))
            beside = (str(ratio_of(measured, query, setting, other)) for other in ("JM16", "JB16"))
            rows.append((f"{TITLES[query]}, {label(setting)} ({setting})", f"{median:,.0f}", *beside))
    return (Table(("query, setting", "rows a second, median", "over JM16", "over JB16"), tuple(rows)),)


def rate_pictures(measured: Measured, what: str) -> list[Picture]:
    """Figure 7 for every query: the rate of each batch, the median of the rounds, against the rows that had come."""
    pictures = []
    for query in QUERIES:
        series = tuple(Series(label(setting), _by_volume(measured[query][setting])) for setting in SETTINGS)
        title = f"{TITLES[query]}: {what}"
        pictures.append(Picture(query, title, "rows that came", ("rows a second",), series))
    return pictures


def _by_volume(runs: Sequence[Measured]) -> tuple[tuple[float, float], ...]:
    points, volume = [], runs[0]["before"]
    for batch, rows in enumerate(runs[0]["rows"]):
        volume += rows
        points.append((float(volume), rows / statistics.median(run["seconds"][batch] for run in runs)))
    return tuple(points)
