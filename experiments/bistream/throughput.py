"""Rows a second of the five settings on Spark, everything in memory (Figures 7 and 8)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import partial

from benchmarks.tasks import Measurement
from experiments.bistream.models import settings_for
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.bistream.timing import BANDS_HAVE_NO_KEY, rate_of, sustained_task
from experiments.claims import Ratio, all_of
from experiments.outcome import Claim, Curve, Outcome
from experiments.side_by_side import Rounds, Variant, in_turn, open_stage, ratio, recorded

SETTINGS = ("JM16", "JB8", "JB16", "JB16-CR4", "JB16-CR8")
KEEPS_UP = 0.9  # of the other's rate
ALL_ON_FEW_CORES = (
    "Rates: the paper has a core or more for every unit, so the busiest unit decides. Here two cores do the work of "
    "all units, so the sum of the work decides: a matrix pays for four copies of every row, and every step for each "
    "unit's segments and lookups; rows that subgroups spare a unit weigh little where the fixed cost of a step is most "
    "of it. What the busiest unit would have to do on a machine of its own is counted above."
)
SELECTIONS_COME_FIRST = (
    "Queries: selections run where rows are taken in, so Q7 and Band, which keep few of their rows, bring less to the "
    "join than Q5 does; and a band is looked up in a sorted index, not compared with every row."
)
COLLAPSE = Claim(
    "the rate collapses where a unit's memory is exceeded, JM16's first",
    "at 80 GB JB8 is 10 times, JB16-CR8 nearly 100 times as fast as JM16",
    "not measured: units have no limit of memory here",
    None,
)


def throughput(size: Size) -> Outcome:
    """Batches as fast as they are taken, all settings in turn."""
    found: dict[str, Rounds] = {}
    with open_stage() as stage:
        for query in QUERIES:
            variants = {s: Variant(sustained_task(size, query, s)) for s in settings_for(query, SETTINGS)}
            found[query] = in_turn(stage, variants, size.rounds)
    return compare(size, found)


def compare(size: Size, found: Mapping[str, Rounds]) -> Outcome:
    """What the rounds say."""
    rate = partial(rate_of, size)
    over = {(q, s, o): ratio(found[q][s], found[q][o], rate) for q in QUERIES for s in found[q] for o in found[q]}
    medians = {(q, s): statistics.median(map(rate, found[q][s])) for q in QUERIES for s in found[q]}
    claims = [claim for query in QUERIES for claim in _claims(query, over)]
    return Outcome(
        "throughput",
        "Rows a second by setting, whole history in memory",
        f"TPC-H scale {size.timed_scale:g} in {size.timed_batches} batches on Spark, results made and discarded, their "
        f"number compared with DuckDB's; {size.rounds} rounds of all settings in turn, the first {size.timed_warm_up} "
        "batches of each run not counted. Ratios are within a round: the median, and the lowest and highest in "
        f"brackets; where rounds disagree, nothing is decided. {BANDS_HAVE_NO_KEY}",
        "Figures 7, 8",
        (*claims, *_between_queries(medians), COLLAPSE),
        ("query, setting", "rows a second, median", "over JM16", "over JB16"),
        tuple(
            (f"{q}, {s}", f"{medians[q, s]:,.0f}", str(over[q, s, "JM16"]), str(over[q, s, "JB16"])) for q, s in medians
        ),
        tuple(Curve(setting, _by_volume(runs, size.timed_warm_up)) for setting, runs in found["q5"].items()),
        ("rows that came, Q5", "rows a second"),
        details=recorded(found),
    )


def _claims(query: str, over: Mapping[tuple[str, str, str], Ratio]) -> list[Claim]:
    random, fewer = over[query, "JB16", "JM16"], over[query, "JB8", "JM16"]
    claims = [
        Claim(
            f"{query}: in memory, random routing is slower than a matrix of as many units",
            "JB16 < JM16 (10 GB)",
            f"JB16 over JM16 {random}",
            random.below(1),
            ALL_ON_FEW_CORES,
        ),
        Claim(
            f"{query}: in memory, JB8 keeps up with JM16, of twice its units",
            "about the same (10 GB)",
            f"JB8 over JM16 {fewer}",
            fewer.above(KEEPS_UP),
            ALL_ON_FEW_CORES,
        ),
    ]
    return claims if query == "band" else [_subgroups(query, over), *claims]


def _subgroups(query: str, over: Mapping[tuple[str, str, str], Ratio]) -> Claim:
    four, eight = over[query, "JB16-CR4", "JB16"], over[query, "JB16-CR8", "JB16-CR4"]
    return Claim(
        f"{query}: the more subgroups, the higher the rate",
        "JB16-CR8 > JB16-CR4 > JB16",
        f"CR4 over JB16 {four}, CR8 over CR4 {eight}",
        all_of(four.above(1), eight.above(1)),
        ALL_ON_FEW_CORES,
    )


def _between_queries(medians: Mapping[tuple[str, str], float]) -> tuple[Claim, ...]:
    seven = statistics.fmean(medians["q5", setting] / medians["q7", setting] for setting in SETTINGS)
    band = statistics.fmean(medians["band", s] / medians["q5", s] for s in settings_for("band", SETTINGS))
    return (
        Claim(
            "Q5 is faster than Q7",
            "about 1.5 times",
            f"{seven:.2f} times, mean of the settings",
            1.2 < seven < 1.9,
            SELECTIONS_COME_FIRST,
        ),
        Claim(
            "Band is much slower than Q5 and Q7",
            "much slower",
            f"{band:.2f} of Q5's rate, mean of the settings",
            band < 0.5,
            SELECTIONS_COME_FIRST,
        ),
    )


def _by_volume(runs: Sequence[Measurement], warm_up: int) -> tuple[tuple[float, float], ...]:
    """The rate of each batch, the median of the rounds, against the rows that had come by then."""
    points, volume = [], 0
    for batch, rows in enumerate(runs[0].rows):
        volume += rows
        if batch >= warm_up:
            points.append((float(volume), rows / statistics.median(run.seconds[batch] for run in runs)))
    return tuple(points)
