"""What adding up costs: the same join with its results discarded, and aggregated, batched or one by one (Figure 13)."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial

from experiments.bistream.models import settings_for
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.bistream.timing import rate_of, sustained_task
from experiments.outcome import Claim, Curve, Outcome
from experiments.side_by_side import Rounds, Summing, Variant, in_turn, open_stage, ratio, recorded

SETTINGS = ("JB16", "JB16-CR4")
MOST_COST = 0.10
REVENUE = "sum(lineitem.extendedprice * (1 - lineitem.discount)) AS revenue"
SUMS = {
    "q5": (("supplier.nation",), (REVENUE,)),
    "q7": (("supplier.nation",), (REVENUE,)),
    "band": (
        ("l1.linenumber",),
        ("count(*) AS pairs", "min(l2.orderkey) AS lowest", "max(l2.orderkey) AS highest"),
    ),
}
ONE_MORE_JOB = (
    "Aggregation: a step that keeps a view has one job of Spark's more, which adds the partial totals to it. That is a "
    "fixed time for each step, so it weighs more the shorter steps are. Where the brackets are wider than a tenth, the "
    "machine's noise is as large as what is measured."
)


def aggregation(size: Size) -> Outcome:
    """Rates with the results discarded, added up batch by batch, and added up one by one."""
    found: dict[str, Rounds] = {}
    with open_stage() as stage:
        for query in QUERIES:
            for setting in settings_for(query, SETTINGS):
                found[f"{query}, {setting}"] = in_turn(stage, _variants(size, query, setting), size.rounds)
    return compare(size, found)


def compare(size: Size, found: Mapping[str, Rounds]) -> Outcome:
    """What the rounds say."""
    rate = partial(rate_of, size)
    rows, claims = [], []
    for name, runs in found.items():
        batched, immediate = (ratio(runs[way], runs["none"], rate) for way in ("batched", "immediate"))
        without = statistics.median(map(rate, runs["none"]))
        rows.append((name, f"{without:,.0f}", str(batched), str(immediate)))
        claims.append(
            Claim(
                f"{name}: aggregation costs little",
                "negligible",
                f"{batched} of the rate without, batched",
                batched.above(1 - MOST_COST),
                ONE_MORE_JOB,
            )
        )
    return Outcome(
        "aggregation",
        "Rows a second with and without aggregation",
        f"TPC-H scale {size.summed_scale:g} in {size.timed_batches} batches on Spark; {size.rounds} rounds of the "
        "three ways in turn, ratios within a round. Without aggregation results are made and discarded, which is the "
        "least a join can do with them. Q5 and Q7 add up the revenue by nation; Band counts and keeps the lowest and "
        "highest order by line number, having no nation without another join. Little is at most a tenth, in every "
        "round; where rounds disagree, nothing is decided.",
        "Figure 13",
        tuple(claims),
        ("query, setting", "rows a second without", "batched over without", "immediate over without"),
        tuple(rows),
        tuple(
            Curve(way, tuple((name, statistics.median(map(rate, runs[way]))) for name, runs in found.items()))
            for way in ("none", "batched", "immediate")
        ),
        ("", "rows a second"),
        "bars",
        recorded(found),
    )


def _variants(size: Size, query: str, setting: str) -> dict[str, Variant]:
    task = sustained_task(size, query, setting, size.summed_scale)
    groups, aggregates = SUMS[query]
    return {
        "none": Variant(task),
        "batched": Variant(task, Summing(groups, aggregates, "batched")),
        "immediate": Variant(task, Summing(groups, aggregates, "immediate")),
    }
