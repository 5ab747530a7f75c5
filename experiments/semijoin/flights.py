"""Figure 10: greedy and exhaustive plans of a join of four streams of real records, by the window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import SemijoinPlan
from braid.optimizer.semijoins.search import exhaustive_plan, greedy_plan, plan_seconds
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.optimizer.strategies import Semijoin
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.semijoin import engine_runs, flight_records, optimizers
from experiments.semijoin.engine_runs import joined_plan, run_tables
from experiments.semijoin.flight_records import MONTHS, RATES, Flights, read_months, records_path
from experiments.semijoin.one_way import KEY_BYTES, LINK
from experiments.semijoin.optimizers import INTERVAL_SECONDS, SHAPES, STREAMS, WINDOWS, model
from experiments.semijoin.size import Size

SEARCHES = {"greedy": greedy_plan, "exhaustive": exhaustive_plan}
TOPOLOGY = "full"
# The paper's largest difference, at 800 ms.
MOST_LONGER = 0.25
INTERVAL_US = round(1e6 * INTERVAL_SECONDS)


def measure(size: Size) -> Measured:
    """For each window: the cost of both plans, as expected and from counted messages; and what the records are."""
    months = read_months(records_path())
    streams = {
        name: {"rows": len(own), "aircraft": own.distinct, "row_bytes": own.row_bytes} for name, own in months.items()
    }
    points = [_point(months, window, size) for window in WINDOWS[:: size.every]]
    return {"streams": streams, "points": points}


def graph_of(months: Mapping[str, Flights], window_ms: int) -> JoinGraph:
    """Mean rates and sizes, and all aircraft of a month: the constants that the paper's plans are made of."""
    streams = tuple(
        StreamStatistics(
            name,
            name,
            RATES[name],
            own.row_bytes,
            window_ms / 1000,
            (JoinAttribute("aircraft", own.distinct, KEY_BYTES),),
        )
        for name, own in months.items()
    )
    return JoinGraph(streams, SHAPES[TOPOLOGY](STREAMS))


def _point(months: Mapping[str, Flights], window_ms: int, size: Size) -> Measured:
    graph = graph_of(months, window_ms)
    plans = {name: search(model(), graph) for name, search in SEARCHES.items()}
    expected = {name: plan_seconds(model(), graph, plan) for name, plan in plans.items()}
    counted = {name: _run(months, window_ms, plan, size) for name, plan in plans.items()}
    return {"window": window_ms, "expected": expected, "counted": counted, "plans": {n: _said(p) for n, p in plans.items()}}


def _said(plan: SemijoinPlan) -> dict[str, list[tuple[str, str]]]:
    return {one.head: [(step.stream, step.algorithm.value) for step in one.steps] for one in plan.sequences}


def _run(months: Mapping[str, Flights], window_ms: int, plan: SemijoinPlan, size: Size) -> Measured:
    """Seconds a second of all links, from the messages after windows have filled, and of the processor."""
    warm = round(window_ms / 1000 / INTERVAL_SECONDS) + 2
    steps = (
        {name: own.between(number * INTERVAL_US, (number + 1) * INTERVAL_US) for name, own in months.items()}
        for number in range(warm + size.flight_batches)
    )
    pairs = sorted((min(edge), max(edge)) for edge in SHAPES[TOPOLOGY](STREAMS))
    joined = joined_plan(dict.fromkeys(months, 1000 * window_ms), pairs, "string")
    progress, busy = run_tables(joined, Semijoin(plans=_said(plan)), steps)
    seconds = size.flight_batches * INTERVAL_SECONDS
    links = [link for step in progress[warm:] for link in step["links"].values()]
    return {
        "link": sum(LINK.seconds(one["bytes"], one["messages"]) for one in links) / seconds,
        "bytes": sum(one["bytes"] for one in links) / seconds,
        "messages": sum(one["messages"] for one in links) / seconds,
        "busy": sum(busy[warm:]) / seconds,
        "results": [int(step["numOutputRows"]) for step in progress[warm:]],
    }
