"""§7.2.1 on Spark: concurrent queries on the same streams share the cores, so that a pair costs each of them more."""

from __future__ import annotations

import statistics

from experiments.claims import Claim, Measured, Ratio, Verdict, agreed
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order import judging, policies, replay, timed
from experiments.in_order.judging import length, means, spread
from experiments.in_order.policies import FIXED, NAMES, gains
from experiments.in_order.replay import FAST_RATE, FILE_SECONDS, WINDOW_SECONDS, Replay
from experiments.in_order.size import Size
from experiments.in_order.timed import SLOTS
from experiments.pictures import Picture, Series

TURN = 2.0  # seconds between two rows of the slower stream
COST = 0.0002  # seconds of a core a pair
PROPORTIONAL = 1.25
"""A cost within this factor of so many times the cost of one query's pairs counts as proportional."""


def measure(size: Size) -> Measured:
    settings = {
        f"{queries} {'query' if queries == 1 else 'queries'}": Replay(COST, TURN, "adaptive", queries, "cpu")
        for queries in size.queries
    }
    return timed.measure(settings, size.pacing, size.rounds, FIXED)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        f"The same query, several times in one session on the same files of {FILE_SECONDS:g} s with {FAST_RATE} rows a "
        f"second, windows of {WINDOW_SECONDS} s, a row of the slower stream every {TURN:g} s. The predicate keeps a "
        f"core busy for {1000 * COST:g} ms of its own time a pair, so that a pair takes longer where queries share the "
        f"cores. c is what the engine measured of the first query. {length(measured)}"
    )


def costs(point: Measured) -> list[float]:
    """Seconds that a pair took, as the engine measured them under Filter-Order: from the delay it models with them."""
    product = WINDOW_SECONDS * FAST_RATE / point["turn"]
    return [run["modelled_delay"] * SLOTS / (2 * product) for run in point["rounds"]["filter-order"]]


def proportional(measured: Measured) -> Verdict:
    """Whether c grows as the number of queries does, in every round."""
    alone, *others = measured["points"]
    said, verdicts = [], []
    for point in others:
        times = Ratio.of(costs(point), costs(alone))
        expected = point["queries"] / alone["queries"]
        said.append(f"{times} times at {point['name']}")
        verdicts += [expected / PROPORTIONAL <= value <= expected * PROPORTIONAL for value in times.values]
    why = "Lookups of queries overlap only where their steps do, and a session schedules and starts tasks meanwhile."
    return Verdict(", ".join(said), agreed(verdicts), why)


def tables(measured: Measured) -> list[Table]:
    rows = []
    for point in measured["points"]:
        found = means(point)
        cost = spread([1000 * one for one in costs(point)])
        rows.append((point["name"], cost, *(spread(found[policy]) for policy in found), spread(gains(found))))
    headings = ("", "c, ms", *(f"{NAMES[policy]}, s" for policy in FIXED), "saved by Filter-Order")
    return [Table(headings, tuple(rows), "Medians of the rounds, with the lowest and highest.")]


def pictures(measured: Measured) -> list[Picture]:
    points = measured["points"]
    series = tuple(
        Series(NAMES[policy], tuple((p["name"], statistics.median(means(p)[policy])) for p in points))
        for policy in FIXED
    )
    title = "How long a row takes until it is emitted, by concurrent queries"
    return [Picture("", title, "queries at once", ("mean response time, s",), series, kind="bars")]


CONCURRENT = Experiment(
    "concurrent",
    "On Spark: concurrent queries",
    ("§7.2.1", "Figure 7"),
    measure,
    describe,
    (
        Claim("proportional", "c is proportional to the number of concurrent queries", "it is", proportional),
        Claim(
            "grows",
            "the gain of Filter-Order grows with the number of concurrent queries",
            "it grows",
            lambda m: judging.grows(m["points"]),
        ),
    ),
    tables,
    pictures,
    timed=True,
    modules=(timed, replay, policies),
)
