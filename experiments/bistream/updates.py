"""Bytes that tasks send for an aggregate, batched and one by one (Figure 14)."""

from __future__ import annotations

from functools import partial

from braid.plan.aggregation import Function, Updates
from braid.plan.expressions import Column
from braid.testing import Draft, DraftStream
from experiments.bistream import counting, queries
from experiments.bistream.counting import count
from experiments.bistream.models import model
from experiments.bistream.queries import QUERIES, TITLES, in_steps
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SETTING = "JB16-CR4"
WAYS: tuple[Updates, ...] = ("batched", "immediate")
MUCH_LESS = 0.5
FEW_RESULTS = "Updates: batching saves little where a group has few results in a step."


def aggregated(name: str, draft: Draft, left: DraftStream, right: DraftStream, updates: Updates) -> Draft:
    """The paper's aggregates by nation: sums for Q5 and Q7, and for Band count, least and greatest at once."""
    calls: list[tuple[Function, tuple[Column, ...]]] = [("sum", (right["extendedprice"],))] if name != "band" else []
    if name == "band":
        calls = [("count", ()), ("min", (right["orderkey"],)), ("max", (right["orderkey"],))]
    return draft.aggregate([left["nation"]], *calls, updates=updates)


def measure_updates(size: Size) -> Measured:
    """Bytes and results of both ways."""
    found: Measured = {}
    for name in QUERIES:
        query = size.summed_query(name)
        steps = in_steps(query.whole(), size.steps)
        found[name] = {}
        for way in WAYS:
            plan = aggregated(name, *query.draft(), way).logical_plan()
            run = count(plan, model(SETTING, name), steps)
            found[name][way] = sum(step["summary"]["updateBytes"] for step in run.steps)
            found[name]["results"] = run.total("numOutputRows")
    return found


def _saves(query: str, measured: Measured) -> Verdict:
    batched, immediate = (measured[query][way] for way in WAYS)
    share = batched / immediate
    return Verdict(f"{share:.3f} of the bytes", share < MUCH_LESS, FEW_RESULTS)


UPDATES = Experiment(
    "updates",
    "Bytes of aggregate updates",
    ("Figure 14",),
    measure_updates,
    lambda measured, settings: _describe(settings),
    tuple(
        Claim(
            f"{query} saves",
            f"{TITLES[query]}: updates batched by step take less than half of the bytes of immediate ones",
            "much less",
            partial(_saves, query),
        )
        for query in QUERIES
    ),
    lambda measured: (
        Table(
            ("query", "batched, bytes", "immediate, bytes"),
            tuple((TITLES[query], *(f"{measured[query][way]:,}" for way in WAYS)) for query in QUERIES),
        ),
    ),
    lambda measured: [
        Picture(
            "",
            "Bytes of aggregate updates that units send",
            "query",
            ("bytes",),
            tuple(Series(way, tuple((TITLES[query], measured[query][way]) for query in QUERIES)) for way in WAYS),
            "dots",
            "log",
        )
    ],
    modules=(counting, queries),
)


def _describe(settings: Settings) -> str:
    scales = settings["size.summed_scales"]
    return (
        f"Biclique of 16 units with 4 subgroups, Q5 and Q7 of TPC-H scale {scales['q5']:g} in {settings['size.steps']} "
        f"steps, Band of scale {scales['band']:g} with all rows of both streams, so that it has results. Q5 and Q7 add "
        "up prices by nation; Band counts and keeps the least and the greatest order by the nation of the supplier. "
        "That batching takes no more bytes is certain; how many fewer is not."
    )
