"""What runs on Spark say: claims, tables and pictures of points that have rounds of every policy."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Literal

from experiments.claims import Claim, Measured, Verdict, agreed, all_of
from experiments.experiment import Table
from experiments.in_order.equations import gain_of_share
from experiments.in_order.policies import NAMES, NEARLY, Responses, beyond_better, bound, gains, target
from experiments.in_order.replay import ALPHA, FAST_RATE, FILE_SECONDS, WINDOW_SECONDS
from experiments.pictures import Picture, Series

HOW = (
    f"Files of {FILE_SECONDS:g} s with {FAST_RATE} rows a second and windows of {WINDOW_SECONDS} s; the predicate is a "
    f"Python function that keeps a core busy for c seconds a pair; alpha {ALPHA:g}. A row's response counts from when "
    "its file is due to the end of the step in which it is emitted."
)
STEPS = (
    "Steps change the picture: a response is never shorter than a step, and all rows of a step are emitted at its end, "
    "so under Sync-Filter a row waits for the lookups of the whole turn and not only for those before its own. The "
    "lookup of the slower row itself falls into the step that emits results under every policy. The product is that of "
    "the paper divided by the slots that share the lookups."
)
FRESH = (
    "Adaptive starts by buffering rows, and changes when it saw several bursts of lookups; in so short a run what "
    "waited until then may still be a part of what is counted."
)


def means(point: Measured) -> Responses:
    return {policy: [run["mean"] for run in runs] for policy, runs in point["rounds"].items()}


def spread(values: Sequence[float]) -> str:
    """The median, and the lowest and highest of all rounds."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"


def grows(points: Sequence[Measured]) -> Verdict:
    """Whether Filter-Order saves more at every next point, in every round."""
    by_point = [gains(means(point)) for point in points]
    said = ", ".join(f"{spread(found)} at {point['name']}" for found, point in zip(by_point, points, strict=True))
    rounds = zip(*by_point, strict=True)
    why = "The longer steps are beside the time between two rows of the slower stream, the less is left to overlap."
    return Verdict(said, agreed(list(one) == sorted(one) for one in rounds), why)


def at_most_half(points: Sequence[Measured]) -> Verdict:
    """Of points at which the lookups of both streams leave some time."""
    found = {point["name"]: gains(means(point)) for point in points if 2 * point["share"] < 1}
    holds = all_of(*(agreed(gain <= 0.5 for gain in one) for one in found.values()))
    largest = max(found, key=lambda name: max(found[name]))
    return Verdict(f"at most {spread(found[largest])}, at {largest}", holds)


def bounded(points: Sequence[Measured], alpha: float) -> Verdict:
    """Whether Adaptive keeps within the bound of the better policy as measured, at every point and in every round."""
    found = {point["name"]: beyond_better(means(point)) for point in points}
    holds = all_of(*(agreed(value <= bound(alpha) for value in one.values) for one in found.values()))
    said = ", ".join(f"{one} at {name}" for name, one in found.items())
    return Verdict(f"{said}; the bound is {bound(alpha):.3f}", holds, FRESH)


def selects(points: Sequence[Measured], alpha: float) -> Verdict:
    """Whether Adaptive buffers results where Filter-Order saves the target; undecided where that is not clear."""
    said, verdicts = [], []
    for point in points:
        found = gains(means(point))
        buffers = [run["buffers"] for run in point["rounds"]["adaptive"]]
        wanted = {_wanted(gain, target(alpha)) for gain in found}
        said.append(f"{' / '.join(dict.fromkeys(buffers))} at {point['name']}, where {spread(found)} is saved")
        clear = len(wanted) == 1 and "either" not in wanted
        verdicts.append(agreed(one in wanted for one in buffers) if clear else None)
    return Verdict("; ".join(said), all_of(*verdicts), FRESH)


def _wanted(gain: float, least: float) -> str:
    """What is to be buffered where so much is saved."""
    if least / NEARLY < gain < least * NEARLY:
        return "either"
    return "results" if gain > least else "rows"


BOUNDED = Claim(
    "bounded",
    "Adaptive takes at most 1 + alpha times as long as the better policy",
    f"1 + alpha = {1 + ALPHA:g}",
    lambda measured: bounded(measured["points"], measured["alpha"]),
)
SELECTS = Claim(
    "selects",
    "Adaptive buffers results where Filter-Order saves alpha / (1 + alpha), and rows where it saves less",
    f"{target(ALPHA):.2f} is saved where it buffers results",
    lambda measured: selects(measured["points"], measured["alpha"]),
)
HALF = Claim(
    "half",
    "the gain is at most about one half while the system keeps up",
    "0.5",
    lambda measured: at_most_half(measured["points"]),
)


def length(measured: Measured) -> str:
    pacing, rounds = measured["pacing"], len(next(iter(measured["points"][0]["rounds"].values())))
    times = "1 round" if rounds == 1 else f"{rounds} rounds, another policy first in each,"
    return f"{times} of runs of {pacing['seconds']:g} s, of which the first {pacing['warm_up']:g} do not count."


def response_table(points: Sequence[Measured], along: str) -> Table:
    headings = (along, "c·w·λ1·λ2 a slot", *(f"{name}, s" for name in NAMES.values()), "saved by Filter-Order")
    headings += ("equation 7", "delay by lookups, measured", "modelled", "median step, s")
    return Table(headings, tuple(_row(one) for one in points), "Medians of the rounds, with the lowest and highest.")


def _row(point: Measured) -> tuple[str, ...]:
    found, runs = means(point), point["rounds"]["filter-order"]
    reported = (statistics.median(run[name] for run in runs) for name in ("delay", "modelled_delay", "step"))
    return (
        point["name"],
        f"{point['share']:.3f}",
        *(spread(found[policy]) for policy in NAMES),
        spread(gains(found)),
        f"{gain_of_share(point['share']):.2f}",
        *(f"{figure:.2f}" for figure in reported),
    )


def waiting_table(points: Sequence[Measured]) -> Table:
    """What the engine reported to wait."""
    rows = []
    for point in points:
        for policy, runs in point["rounds"].items():
            figure = {name: statistics.median(run["waiting"][name] for run in runs) for name in runs[0]["waiting"]}
            own = (f"{figure['rows']:.0f}", f"{figure['row_bytes'] / 1024:.1f}")
            found = (f"{figure['results']:.1f}", f"{figure['result_bytes'] / 1024:.2f}")
            rows.append((f"{point['name']}, {NAMES[policy]}", *own, *found))
    headings = ("", "rows that wait", "their bytes, KiB", "results that wait", "their bytes, KiB")
    return Table(headings, tuple(rows), "What the engine reported to wait between steps, on average over time.")


def response_picture(
    points: Sequence[Measured],
    along: str,
    place: Callable[[Measured], float],
    along_scale: Literal["linear", "log"] = "linear",
) -> Picture:
    """A line through the medians of each policy."""
    series = tuple(
        Series(NAMES[policy], tuple((place(one), statistics.median(means(one)[policy])) for one in points))
        for policy in NAMES
    )
    title, upward = "How long a row takes on Spark until it is emitted", ("mean response time, s",)
    return Picture("", title, along, upward, series, along_scale=along_scale)
