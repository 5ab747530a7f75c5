"""Figures 9 and 10 in the model: the slower stream brings 0.01 to 1 rows a second."""

from __future__ import annotations

import statistics

from experiments.claims import Claim, Measured, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order import adaptive, model, policies
from experiments.in_order.equations import Setting, gain_of_share
from experiments.in_order.model import FAST_RATE, HOW, MOSTLY, WINDOW, measure_point
from experiments.in_order.policies import NAMES, gains, saved
from experiments.in_order.size import Size
from experiments.pictures import Picture, Series

COST = 0.0005
SLOW_RATES = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 1.0)
MINUTE = 60.0


def measure(size: Size) -> Measured:
    return {"points": [measure_point(Setting(slow, FAST_RATE, COST, WINDOW), size) for slow in SLOW_RATES]}


def describe(measured: Measured, settings: Settings) -> str:
    return (
        f"{HOW} c is {1000 * COST:g} ms. {settings['size.seeds']} runs of {settings['size.minutes']} minutes, longer "
        f"ones where the slower stream would bring less than {settings['size.slow_rows']} rows."
    )


def takes_a_minute(measured: Measured) -> Verdict:
    """Whether every policy takes more than a minute at the lowest rate, in every run."""
    by_policy = measured["points"][0]["responses"].values()
    slowest = [statistics.fmean(runs) for runs in by_policy]
    quickest = [statistics.fmean(runs) for runs in measured["points"][-1]["responses"].values()]
    low, high = measured["points"][0]["slow"], measured["points"][-1]["slow"]
    said = f"{min(slowest):.0f} to {max(slowest):.0f} s at {low:g}, {min(quickest):.1f} to {max(quickest):.1f} s"
    return Verdict(f"{said} at {high:g}", all_of(*(agreed(second > MINUTE for second in runs) for runs in by_policy)))


def switches_at(measured: Measured) -> Verdict:
    """Whether Adaptive mostly buffers results at the highest rate alone, in every run."""
    points = measured["points"]
    runs = range(len(points[0]["buffering_results"]))
    first = [next((p["slow"] for p in points if p["buffering_results"][run] > MOSTLY), None) for run in runs]
    said = ", ".join(f"{rate:g}" for rate in sorted({rate for rate in first if rate is not None}))
    return Verdict(said or "never", agreed(rate == points[-1]["slow"] for rate in first))


def tables(measured: Measured) -> list[Table]:
    points = measured["points"]
    return [model.table(points, "λ1", [f"{point['slow']:g}" for point in points])]


def pictures(measured: Measured) -> list[Picture]:
    points, along = measured["points"], "rows a second of the slower stream"
    means = tuple(
        Series(name, tuple((p["slow"], statistics.fmean(p["responses"][policy])) for p in points))
        for policy, name in NAMES.items()
    )
    shares = (
        Series("Filter-Order", tuple((p["slow"], statistics.median(gains(p["responses"]))) for p in points)),
        Series("Adaptive", tuple((p["slow"], statistics.median(saved(p["responses"], "adaptive"))) for p in points)),
        Series("equation 7", tuple((p["slow"], gain_of_share(p["share"])) for p in points), dashed=True),
    )
    label = ("mean response time, s",)
    return [
        Picture("", "How long a row takes, both axes logarithmic", along, label, means, scale="log", along_scale="log"),
        Picture("saved", "What is saved of Sync-Filter's response time", along, ("share saved",), shares),
    ]


RATES_IN_MODEL = Experiment(
    "rates",
    "In the model: the rate of the slower stream",
    ("Figure 9", "Figure 10"),
    measure,
    describe,
    (
        Claim(
            "grows",
            "the gain of Filter-Order grows with the slower stream's rate",
            "from about 0 to about 0.45",
            lambda m: model.grows(m["points"], "responses"),
        ),
        Claim(
            "minute",
            "responses take more than a minute when the slower stream brings 0.01 rows a second",
            "all policies",
            takes_a_minute,
        ),
        Claim("switches", "Adaptive buffers results at 1 row a second and not before", "1 row a second", switches_at),
        *model.following(lambda point: f"{point['slow']:g} rows a second"),
    ),
    tables,
    pictures,
    modules=(model, adaptive, policies),
)
