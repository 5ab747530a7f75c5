"""Figures 7 and 8 in the model: comparing two rows takes 1 µs to 1 ms, and beyond, as when more queries run."""

from __future__ import annotations

import statistics

from experiments.claims import Claim, Measured, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order import adaptive, model, policies
from experiments.in_order.equations import Setting, gain_of_share
from experiments.in_order.model import FAST_RATE, HOW, MOSTLY, WINDOW, keeps_up, measure_point
from experiments.in_order.policies import NAMES, gains, saved
from experiments.in_order.size import Size
from experiments.pictures import Picture, Series

SLOW_RATE = 1.0
SWITCHING_COST = 0.0005
COSTS = (1e-6, 1e-5, 1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 1e-3, 1.2e-3, 1.5e-3)
LARGEST_PRINTED = 1e-3  # larger ones are ours: there even a server for each stream is hardly enough
LAGS = (
    "From where the server lags behind both streams' lookups, rows queue for it under every policy, and little is left "
    "to save."
)


def measure(size: Size) -> Measured:
    return {"points": [measure_point(Setting(SLOW_RATE, FAST_RATE, cost, WINDOW), size) for cost in COSTS]}


def describe(measured: Measured, settings: Settings) -> str:
    runs, minutes = settings["size.seeds"], settings["size.minutes"]
    return (
        f"{HOW} {runs} runs of {minutes} minutes, the slower stream {SLOW_RATE:g} row a second. From c·w·λ1·λ2 = 0.5 "
        "on one server does not keep up with both streams: all response times grow as long as the run goes on."
    )


def as_printed(measured: Measured) -> list[Measured]:
    """The points at costs that the paper has."""
    return [point for point in measured["points"] if point["cost"] <= LARGEST_PRINTED]


def exceeds_half(measured: Measured) -> Verdict:
    """Whether Filter-Order saves more than half at every cost that one server cannot do, in every run."""
    behind = [point for point in measured["points"] if not keeps_up(point)]
    found = [gains(point["responses"]) for point in behind]
    middle = [statistics.median(one) for one in found]
    apart = [statistics.median(gains(point["apart"])) for point in behind]
    said = f"{min(middle):.2f} to {max(middle):.2f}; with a server for each stream {min(apart):.2f} to {max(apart):.2f}"
    return Verdict(said, all_of(*(agreed(gain > 0.5 for gain in one) for one in found)), LAGS)


def conservative(measured: Measured) -> Verdict:
    (point,) = [one for one in measured["points"] if one["cost"] == SWITCHING_COST]
    found, expected = gains(point["responses"]), gain_of_share(point["share"])
    said = f"{statistics.median(found):.2f} ({min(found):.2f} to {max(found):.2f}), {expected:.2f} by equation 7"
    return Verdict(said, agreed(gain > expected for gain in found))


def switches_at(measured: Measured) -> Verdict:
    """Whether 0.5 ms is the smallest cost at which Adaptive mostly buffers results, in every run."""
    points = measured["points"]
    runs = range(len(points[0]["buffering_results"]))
    first = [next((p["cost"] for p in points if p["buffering_results"][run] > MOSTLY), None) for run in runs]
    said = ", ".join(f"{1000 * cost:g} ms" for cost in sorted({cost for cost in first if cost is not None}))
    why = "Where rows come at random the measured delay is above alpha for some time also at smaller costs."
    return Verdict(said or "never", agreed(cost == SWITCHING_COST for cost in first), why)


def tables(measured: Measured) -> list[Table]:
    points = measured["points"]
    return [model.table(points, "c", [f"{1e6 * point['cost']:g} µs" for point in points])]


def pictures(measured: Measured) -> list[Picture]:
    points = [point for point in measured["points"] if keeps_up(point)]
    along = "c, the cost of comparing two rows, ms"
    means = tuple(
        Series(name, tuple((1000 * p["cost"], statistics.fmean(p["responses"][policy])) for p in points))
        for policy, name in NAMES.items()
    )
    return [
        Picture("", "How long a row takes, while one server keeps up", along, ("mean response time, s",), means),
        Picture("saved", "What is saved of Sync-Filter's response time", along, ("share saved",), _saved(measured)),
    ]


def _saved(measured: Measured) -> tuple[Series, ...]:
    points = measured["points"]
    along = [1000 * point["cost"] for point in points]
    lines = {
        "Filter-Order": [statistics.median(gains(point["responses"])) for point in points],
        "Adaptive": [statistics.median(saved(point["responses"], "adaptive")) for point in points],
        "Filter-Order, a server for each stream": [statistics.median(gains(point["apart"])) for point in points],
        "equation 7": [gain_of_share(point["share"]) for point in points],
    }
    return tuple(
        Series(name, tuple(zip(along, values, strict=True)), dashed=name == "equation 7")
        for name, values in lines.items()
    )


COSTS_IN_MODEL = Experiment(
    "costs",
    "In the model: the cost of comparing two rows",
    ("Figure 7", "Figure 8"),
    measure,
    describe,
    (
        Claim(
            "grows-apart",
            "the gain of Filter-Order grows with c, a server for each stream",
            "from about 0 to more than 0.5",
            lambda m: model.grows(as_printed(m), "apart"),
        ),
        Claim(
            "grows",
            "the gain of Filter-Order grows with c, one server for both streams",
            "from about 0 to more than 0.5",
            lambda m: model.grows(as_printed(m), "responses", LAGS),
        ),
        Claim(
            "half",
            "the gain is at most about one half while the system keeps up",
            "0.5",
            lambda m: model.at_most_half(m["points"]),
        ),
        Claim("beyond-half", "the gain is more than one half where Sync-Filter lags behind", "more", exceeds_half),
        Claim(
            "conservative",
            "the gain at c = 0.5 ms is larger than equation 7 says",
            "about 0.45 instead of 0.23",
            conservative,
        ),
        Claim("switches", "Adaptive buffers results from c = 0.5 ms on", "0.5 ms", switches_at),
        *model.following(lambda point: f"{1000 * point['cost']:g} ms"),
    ),
    tables,
    pictures,
    modules=(model, adaptive, policies),
)
