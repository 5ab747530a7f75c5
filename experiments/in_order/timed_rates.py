"""Figures 9 and 10 on Spark: a slower stream that brings more and more rows."""

from __future__ import annotations

from experiments.claims import Claim, Measured
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order import judging, policies, replay, timed
from experiments.in_order.judging import BOUNDED, HALF, HOW, SELECTS, length
from experiments.in_order.policies import NAMES
from experiments.in_order.replay import Replay
from experiments.in_order.size import Size
from experiments.pictures import Picture

COST = 0.0007  # seconds a pair


def measure(size: Size) -> Measured:
    settings = {f"{1 / turn:.2g} rows a second": Replay(COST, turn, "adaptive") for turn in size.turns}
    return timed.measure(settings, size.pacing, size.rounds, tuple(NAMES))


def describe(measured: Measured, settings: Settings) -> str:
    return f"{HOW} c is {1000 * COST:g} ms. {length(measured)} What is said above of steps holds here too."


def tables(measured: Measured) -> list[Table]:
    return [judging.response_table(measured["points"], "λ1"), judging.waiting_table(measured["points"])]


def pictures(measured: Measured) -> list[Picture]:
    return [judging.response_picture(measured["points"], "rows a second of the slower stream", lambda p: 1 / p["turn"])]


RATES = Experiment(
    "timed_rates",
    "On Spark: the rate of the slower stream",
    ("Figure 9", "Figure 10"),
    measure,
    describe,
    (
        Claim(
            "grows",
            "the gain of Filter-Order grows with the slower stream's rate",
            "it grows",
            lambda m: judging.grows(m["points"]),
        ),
        HALF,
        BOUNDED,
        SELECTS,
    ),
    tables,
    pictures,
    timed=True,
    modules=(timed, replay, judging, policies),
)
