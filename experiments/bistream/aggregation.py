"""What adding up costs on Spark: the same join with its results discarded, and aggregated (Figure 13)."""

from __future__ import annotations

import statistics
from dataclasses import replace

from experiments.bistream import modelled, queries, timing
from experiments.bistream.modelled import SUMMED, sum_claims, sum_picture
from experiments.bistream.models import label
from experiments.bistream.queries import EQUAL_VOLUME, QUERIES, TITLES
from experiments.bistream.size import Size
from experiments.bistream.timing import rates_of, recorded, sustained_task
from experiments.claims import Measured, Ratio
from experiments.experiment import Experiment, Settings, Table
from experiments.side_by_side import Summing, Variant, in_turn, open_stage

WAYS = ("none", "batched", "immediate")
REVENUE = "sum(lineitem.extendedprice * (1 - lineitem.discount)) AS revenue"
SUMS = {
    "q5": (("supplier.nation",), (REVENUE,)),
    "q7": (("supplier.nation",), (REVENUE,)),
    "band": (("l1.nation",), ("count(*) AS pairs", "min(l2.orderkey) AS lowest", "max(l2.orderkey) AS highest")),
}
ONE_MORE_JOB = (
    "Aggregation on Spark: a step that keeps an aggregate has one job of Spark's more, which adds the partial "
    "totals to "
    "it. That is a fixed time for each step, so it weighs more the shorter steps are."
)


def measure_aggregation(size: Size) -> Measured:
    """Results discarded, added up batch by batch, and added up one by one, in turn."""
    found: Measured = {}
    with open_stage() as stage:
        for query in QUERIES:
            for setting in SUMMED:
                rounds = in_turn(stage, variants(size, query, setting), size.rounds)
                kept = {way: [recorded(run, size.timed_warm_up) for run in runs] for way, runs in rounds.items()}
                found[f"{query} {setting}"] = kept
    return found


def variants(size: Size, query: str, setting: str) -> dict[str, Variant]:
    """The three ways. Band has all rows of both streams, so that it has results, and the nation of the supplier."""
    task = sustained_task(size, query, setting)
    options = {"scale_factor": size.summed_scales[query], "batches": size.timed_batches}
    options |= {"with_nation": True} if query == "band" else EQUAL_VOLUME[query]
    task, (groups, aggregates) = replace(task, options=options), SUMS[query]
    return {
        "none": Variant(task),
        "batched": Variant(task, Summing(groups, aggregates, "batched")),
        "immediate": Variant(task, Summing(groups, aggregates, "immediate")),
    }


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = []
    for key, runs in measured.items():
        query, setting = key.split()
        rates = {way: rates_of(runs[way]) for way in WAYS}
        beside = (str(Ratio.of(rates[way], rates["none"])) for way in WAYS[1:])
        rows.append((f"{TITLES[query]}, {label(setting)}", f"{statistics.median(rates['none']):,.0f}", *beside))
    headings = ("query, setting", "rows a second without", "batched over without", "immediate over without")
    return (Table(headings, tuple(rows)),)


def _describe(measured: Measured, settings: Settings) -> str:
    scales = settings["size.summed_scales"]
    return (
        f"Q5 and Q7 of TPC-H scale {scales['q5']:g} with streams of equal volume, Band of scale "
        f"{scales['band']:g} with "
        f"all rows of both, in {settings['size.timed_batches']} batches on Spark, wall time; {settings['size.rounds']} "
        "rounds of the three ways in turn, ratios within a round. Without aggregation results are made and discarded, "
        "the least a join can do with them. Q5 and Q7 add up the revenue by nation; Band counts and keeps the lowest "
        "and the highest order by the nation of the supplier, which is joined to its rows beforehand."
    )


AGGREGATION = Experiment(
    "aggregation",
    "With and without aggregation on Spark",
    ("Figure 13",),
    measure_aggregation,
    _describe,
    sum_claims(ONE_MORE_JOB),
    _table,
    lambda measured: [sum_picture(measured, "Rows a second with and without aggregation on Spark")],
    timed=True,
    modules=(modelled, queries, timing),
)
