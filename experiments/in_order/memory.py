"""What waits in the model: rows under Sync-Filter, results under Filter-Order, by how many results a row finds."""

from __future__ import annotations

import numpy as np

from braid.control.ordering import Ordering, Policy
from experiments.claims import Claim, Measured, Verdict, agreed
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order.arrivals import exponential
from experiments.in_order.equations import Setting
from experiments.in_order.policies import FIXED, NAMES
from experiments.in_order.rows import prepare
from experiments.in_order.server import Served, serve
from experiments.in_order.size import Size
from experiments.pictures import Picture, Series

SETTING = (1.0, 10.0, 0.0003, 60.0)  # rows a second of both streams, c, the window
FINDING = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Results that a row of the faster stream finds on average."""


def measure(size: Size) -> Measured:
    """The same arrivals, with predicates that let more and more pairs through."""
    points: list[Measured] = [{"finding": finding, "waiting": {policy: [] for policy in FIXED}} for finding in FINDING]
    setting = Setting(*SETTING)
    for seed in range(size.seeds):
        arrivals = exponential(setting.slow, setting.fast, 60 * size.minutes, seed)
        rows = prepare(arrivals, setting.window, setting.cost)
        for policy in FIXED:
            served = serve(rows, Ordering(policy, 0.3))
            for point in points:
                selectivity = point["finding"] / (setting.window * setting.slow)
                point["waiting"][policy].append(_count(served, setting.window, selectivity))
    return {"points": points}


def _count(served: Served, window: float, selectivity: float) -> dict[str, float]:
    """Rows that wait to be looked up and results that wait to leave, on average from a full window on."""
    times = served.rows.arrivals.times
    counted = (times >= window) & np.isfinite(served.left)
    seconds = float(times[-1]) - window
    waiting = served.began[counted] - times[counted]
    results = selectivity * served.rows.compared[counted] * (served.left[counted] - served.done[counted])
    return {"rows": float(waiting.sum()) / seconds, "results": float(results.sum()) / seconds}


def describe(measured: Measured, settings: Settings) -> str:
    slow, fast, cost, window = SETTING
    return (
        f"Exponential gaps, {slow:g} and {fast:g} rows a second, windows of {window:g} s, c {1000 * cost:g} ms, "
        f"{settings['size.seeds']} runs of {settings['size.minutes']} minutes. Rows before their lookup and results "
        "before they leave, counted alike, on average over time; the stored windows are the same under both policies "
        "and not counted."
    )


def together(point: Measured, policy: str) -> list[float]:
    return [one["rows"] + one["results"] for one in point["waiting"][policy]]


def less_under_sync_filter(measured: Measured) -> Verdict:
    return _compared(measured["points"][-1], "sync-filter", "filter-order")


def less_under_filter_order(measured: Measured) -> Verdict:
    return _compared(measured["points"][0], "filter-order", "sync-filter")


def _compared(point: Measured, less: str, more: str) -> Verdict:
    one, other = together(point, less), together(point, more)
    said = ", ".join(f"{np.mean(together(point, policy)):.1f} under {NAMES[policy]}" for policy in FIXED)
    holds = agreed(a < b for a, b in zip(one, other, strict=True))
    return Verdict(f"{point['finding']:g} results a row: {said}", holds)


def tables(measured: Measured) -> list[Table]:
    rows = tuple(
        (
            f"{point['finding']:g}",
            *(f"{np.mean([one[what] for one in point['waiting'][policy]]):.1f}" for policy, what in _columns()),
        )
        for point in measured["points"]
    )
    return [Table(("results a row finds", *(f"{NAMES[policy]}: {what}" for policy, what in _columns())), rows)]


def _columns() -> list[tuple[Policy, str]]:
    return [(policy, what) for policy in FIXED for what in ("rows", "results")]


def pictures(measured: Measured) -> list[Picture]:
    series = tuple(
        Series(NAMES[policy], tuple((p["finding"], float(np.mean(together(p, policy)))) for p in measured["points"]))
        for policy in FIXED
    )
    along, upward = "results that a row of the faster stream finds", ("rows and results that wait",)
    return [Picture("", "What waits in the model", along, upward, series, scale="log", along_scale="log")]


BUFFERED = Experiment(
    "buffered",
    "In the model: what waits in memory",
    ("§4.2", "§5.2"),
    measure,
    describe,
    (
        Claim(
            "unselective",
            "an unselective join waits with less memory under Sync-Filter",
            "Sync-Filter",
            less_under_sync_filter,
        ),
        Claim(
            "selective",
            "a selective join waits with less memory under Filter-Order",
            "Filter-Order",
            less_under_filter_order,
        ),
    ),
    tables,
    pictures,
)
