"""Figures 7 and 8 on Spark: pairs that cost more and more, and a cost at which the lookups leave no time."""

from __future__ import annotations

from experiments.claims import Claim, Measured, Verdict, agreed
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order import judging, policies, replay, timed
from experiments.in_order.judging import BOUNDED, HALF, HOW, SELECTS, STEPS, length, means, spread
from experiments.in_order.policies import NAMES, gains
from experiments.in_order.replay import Replay
from experiments.in_order.size import Size
from experiments.pictures import Picture

TURN = 2.0  # seconds between two rows of the slower stream


def measure_costs(size: Size) -> Measured:
    return _measure(size, size.costs)


def measure_overload(size: Size) -> Measured:
    return _measure(size, (size.overload_cost,))


def _measure(size: Size, costs: tuple[float, ...]) -> Measured:
    settings = {f"{1000 * cost:g} ms": Replay(cost, TURN, "adaptive") for cost in costs}
    return timed.measure(settings, size.pacing, size.rounds, tuple(NAMES))


def describe_costs(measured: Measured, settings: Settings) -> str:
    return f"{HOW} A row of the slower stream every {TURN:g} s. {length(measured)} {STEPS}"


def describe_overload(measured: Measured, settings: Settings) -> str:
    (point,) = measured["points"]
    return (
        f"{HOW} A row of the slower stream every {TURN:g} s, and {point['name']} a pair: the lookups of one stream "
        f"take {point['share']:.2f} of the time of both slots, those of both streams twice that, so no policy "
        f"keeps up and response times grow as long as the run goes on. {length(measured)}"
    )


def saves_more_than_half(measured: Measured) -> Verdict:
    (point,) = measured["points"]
    found = gains(means(point))
    why = "The slots lag behind under Filter-Order too: the lookups of both streams take more time than there is."
    return Verdict(f"{spread(found)} at {point['name']}", agreed(gain > 0.5 for gain in found), why)


def tables(measured: Measured) -> list[Table]:
    return [judging.response_table(measured["points"], "c"), judging.waiting_table(measured["points"])]


def pictures_of_costs(measured: Measured) -> list[Picture]:
    points = measured["points"]
    return [
        judging.response_picture(points, "c, the cost of comparing two rows, ms", lambda p: 1000 * p["cost"], "log")
    ]


COSTS = Experiment(
    "timed_costs",
    "On Spark: the cost of comparing two rows",
    ("Figure 7", "Figure 8"),
    measure_costs,
    describe_costs,
    (
        Claim("grows", "the gain of Filter-Order grows with c", "it grows", lambda m: judging.grows(m["points"])),
        HALF,
        BOUNDED,
        SELECTS,
    ),
    tables,
    pictures_of_costs,
    timed=True,
    modules=(timed, replay, judging, policies),
)
OVERLOAD = Experiment(
    "timed_overload",
    "On Spark: a cost beyond what the slots can do",
    ("Figure 8",),
    measure_overload,
    describe_overload,
    (
        Claim(
            "beyond-half",
            "Filter-Order saves more than half where Sync-Filter lags behind",
            "more than 0.5 at the two largest costs",
            saves_more_than_half,
        ),
        BOUNDED,
    ),
    tables,
    timed=True,
    modules=(timed, replay, judging, policies),
)
