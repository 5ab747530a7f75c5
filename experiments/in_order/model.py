"""Runs of the paper's model with exponential gaps: the three policies on the same arrivals, one server."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from braid.control.ordering import Ordering, Policy
from experiments.claims import Claim, Measured, Verdict, agreed, all_of
from experiments.experiment import Table
from experiments.in_order.adaptive import PERIOD_MS
from experiments.in_order.arrivals import FAST, SLOW, exponential
from experiments.in_order.equations import Setting, gain_of_share
from experiments.in_order.policies import FIXED, NAMES, NEARLY, beyond_better, bound, gains, saved, target
from experiments.in_order.rows import Rows, prepare
from experiments.in_order.server import Served, Servers, serve
from experiments.in_order.size import Size

ALPHA = 0.3
WINDOW = 60.0
FAST_RATE = 10.0
MOSTLY = 0.5  # of the run
Place = Callable[[Measured], str]
"""The name of a point."""
HOW = (
    f"Exponential gaps, windows of {WINDOW:g} s, the faster stream {FAST_RATE:g} rows a second, alpha {ALPHA:g}, one "
    "server for both streams' lookups. The controller is the engine's, asked every "
    f"{PERIOD_MS / 1000:g} s of the run's clock; it compares alpha with the delay that lookups meant for rows. All "
    "rows count, from a full window on."
)
SIDES = (
    "Rows that come at random wait longer for each other's lookups than rows at even distances, so Filter-Order saves "
    "more than equation 7 says, and saves the target already where the product is below alpha."
)

NEARLY_BUSY = (
    "Where the server is busy for most of the time, chance decides how long rows queue for it under every policy, and "
    "what is saved becomes a small part of that."
)


def measure_point(setting: Setting, size: Size) -> Measured:
    """Mean response times of runs that differ in their arrivals; `apart`: each stream's lookups have a server."""
    runs = [_run(setting, size, seed) for seed in range(size.seeds)]
    rows = [run["sync-filter"].rows for run in runs]
    return {
        "slow": setting.slow,
        "fast": setting.fast,
        "cost": setting.cost,
        "share": setting.share,
        "responses": {policy: [run[policy].response(setting.window) for run in runs] for policy in NAMES},
        "apart": {policy: [response(one, setting.window, policy, "apart") for one in rows] for policy in FIXED},
        "buffering_results": [_share_buffering_results(run["adaptive"]) for run in runs],
        "switches": [len(run["adaptive"].switches) for run in runs],
    }


def response(
    rows: Rows, window: float, policy: Policy, servers: Servers, streams: tuple[int, ...] = (SLOW, FAST)
) -> float:
    return serve(rows, Ordering(policy, ALPHA), servers).response(window, streams)


def _run(setting: Setting, size: Size, seed: int) -> dict[Policy, Served]:
    seconds = setting.window + max(60.0 * size.minutes, size.slow_rows / setting.slow)
    rows = prepare(exponential(setting.slow, setting.fast, seconds, seed), setting.window, setting.cost)
    return {policy: serve(rows, Ordering(policy, ALPHA)) for policy in NAMES}


def _share_buffering_results(served: Served) -> float:
    """Of the time from a full window on."""
    end = float(served.rows.arrivals.times[-1])
    seconds = [max(WINDOW, switch.second) for switch in served.switches] + [end]
    buffered = sum(
        until - max(WINDOW, switch.second)
        for switch, until in zip(served.switches, seconds[1:], strict=True)
        if switch.holds == "results"
    )
    return buffered / (end - WINDOW)


def keeps_up(point: Measured) -> bool:
    """Whether one server can do the lookups of both streams."""
    return bool(2 * point["share"] < 1)


def grows(points: Sequence[Measured], servers: str, why: str = "") -> Verdict:
    """Whether Filter-Order saves more at every next point, in every run."""
    by_point = [gains(point[servers]) for point in points]
    middle = [statistics.median(found) for found in by_point]
    said = f"from {middle[0]:.3f} to {middle[-1]:.3f}"
    if max(middle) > middle[-1]:
        said += f", {max(middle):.2f} between them"
    return Verdict(said, agreed(list(one) == sorted(one) for one in zip(*by_point, strict=True)), why)


def at_most_half(points: Sequence[Measured]) -> Verdict:
    found = [gains(point["responses"]) for point in points if keeps_up(point)]
    largest = max(gain for one in found for gain in one)
    return Verdict(f"at most {largest:.2f} in any run", all_of(*(agreed(gain <= 0.5 for gain in one) for one in found)))


def bounded(points: Sequence[Measured], place: Place) -> Verdict:
    """Whether Adaptive keeps within the bound of the better policy as measured, in every run at every point."""
    found = {place(point): beyond_better(point["responses"]) for point in points}
    holds = all_of(*(agreed(value <= bound(ALPHA) for value in one.values) for one in found.values()))
    worst = max(found, key=lambda name: max(found[name].values))
    return Verdict(f"at most {found[worst]}, at {worst}; the bound is {bound(ALPHA):.3f}", holds)


def reaches_target(points: Sequence[Measured], place: Place) -> Verdict:
    """Where Adaptive mostly buffers results and the server keeps up it saves the target, in every run."""
    chosen = [p for p in points if keeps_up(p) and statistics.median(p["buffering_results"]) > MOSTLY]
    if not chosen:
        return Verdict("Adaptive buffers rows at every point", False)
    found = {place(point): saved(point["responses"], "adaptive") for point in chosen}
    holds = all_of(*(agreed(gain >= target(ALPHA) for gain in one) for one in found.values()))
    least = min(found, key=lambda name: min(found[name]))
    return Verdict(f"at least {min(found[least]):.2f} in any run, at {least}", holds, NEARLY_BUSY)


def as_well(points: Sequence[Measured], place: Place) -> Verdict:
    """Wherever Filter-Order saves the target, Adaptive takes nearly as little time, in every run."""
    chosen = [p for p in points if keeps_up(p) and min(gains(p["responses"])) >= target(ALPHA)]
    if not chosen:
        return Verdict("Filter-Order saves the target nowhere", None)
    found = {place(point): beyond_better(point["responses"]) for point in chosen}
    holds = all_of(*(agreed(value <= NEARLY for value in one.values) for one in found.values()))
    said = ", ".join(f"{one} times at {name}" for name, one in found.items())
    return Verdict(said, holds, SIDES)


def following(place: Place) -> tuple[Claim, ...]:
    """Adaptive beside the better policy; `place` names what points differ in."""
    return (
        Claim(
            "bounded",
            "Adaptive takes at most 1 + alpha times as long as the better policy",
            f"1 + alpha = {1 + ALPHA:g}",
            lambda measured: bounded(measured["points"], place),
        ),
        Claim(
            "target",
            "Adaptive saves alpha / (1 + alpha) of Sync-Filter's time where it buffers results",
            f"{target(ALPHA):.2f}",
            lambda measured: reaches_target(measured["points"], place),
        ),
        Claim(
            "as-well",
            "Adaptive takes as little time as Filter-Order wherever that saves alpha / (1 + alpha)",
            "it becomes Filter-Order",
            lambda measured: as_well(measured["points"], place),
        ),
    )


def table(points: Sequence[Measured], along: str, names: Sequence[str]) -> Table:
    headings = (along, "c·w·λ1·λ2", *(f"{name}, s" for name in NAMES.values()), "saved by Filter-Order")
    headings += ("with a server each", "equation 7", "buffering results", "switches a run")
    rows = tuple(_row(name, point) for name, point in zip(names, points, strict=True))
    return Table(headings, rows, "Means of all runs; what is saved as the median, the lowest and the highest.")


def _row(name: str, point: Measured) -> tuple[str, ...]:
    own, apart = gains(point["responses"]), gains(point["apart"])
    return (
        name,
        f"{point['share']:.4g}",
        *(f"{statistics.fmean(point['responses'][policy]):.3g}" for policy in NAMES),
        f"{statistics.median(own):.3f} ({min(own):.3f} to {max(own):.3f})",
        f"{statistics.median(apart):.3f}",
        f"{gain_of_share(point['share']):.3f}",
        f"{statistics.fmean(point['buffering_results']):.0%}",
        f"{statistics.fmean(point['switches']):.1f}",
    )
