"""What waits in memory: rows under Sync-Filter, results under Filter-Order, by how many results a row finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from braid.control.ordering import Ordering, Policy
from experiments.in_order.arrivals import exponential
from experiments.in_order.equations import Setting
from experiments.in_order.rows import prepare
from experiments.in_order.server import Served, serve
from experiments.in_order.size import Size
from experiments.outcome import Claim, Curve, Outcome

SETTING = Setting(1.0, 10.0, 0.0003, 60.0)
FINDING = (0.1, 0.3, 1.0, 3.0, 10.0)
"""Results that a row of the faster stream finds on average."""


@dataclass(frozen=True)
class Buffered:
    """Rows that wait to be looked up and results that wait to leave, on average over time."""

    rows: float
    results: float

    @property
    def together(self) -> float:
        return self.rows + self.results


def buffered(size: Size) -> Outcome:
    """The same arrivals, with predicates that let more and more pairs through."""
    rows = prepare(exponential(SETTING.slow, SETTING.fast, 60 * size.minutes, seed=1), SETTING.window, SETTING.cost)
    served: dict[Policy, Served] = {p: serve(rows, Ordering(p, 0.3)) for p in ("sync-filter", "filter-order")}
    found = {
        finding: {policy: _count(run, finding / (SETTING.window * SETTING.slow)) for policy, run in served.items()}
        for finding in FINDING
    }
    selective, unselective = found[FINDING[0]], found[FINDING[-1]]
    return Outcome(
        "buffered",
        "What waits in memory",
        f"Exponential gaps, 1 and 10 rows a second, windows of {SETTING.window:g} s, c {1000 * SETTING.cost:g} ms, "
        f"{size.minutes} minutes. Rows before their lookup and results before they leave, counted alike, on average "
        "over time; the stored windows are the same under both and not counted.",
        "§4.2 and §5.2",
        (
            Claim(
                "an unselective join waits with less memory under Sync-Filter",
                "Sync-Filter",
                _compared(FINDING[-1], unselective),
                unselective["sync-filter"].together < unselective["filter-order"].together,
            ),
            Claim(
                "a selective join waits with less memory under Filter-Order",
                "Filter-Order",
                _compared(FINDING[0], selective),
                selective["filter-order"].together < selective["sync-filter"].together,
            ),
        ),
        ("results a row finds", "Sync-Filter: rows", "results", "Filter-Order: rows", "results"),
        tuple(
            (f"{finding:g}", *(f"{number:.1f}" for one in by.values() for number in (one.rows, one.results)))
            for finding, by in found.items()
        ),
        (
            Curve("Sync-Filter", tuple((n, by["sync-filter"].together) for n, by in found.items())),
            Curve("Filter-Order", tuple((n, by["filter-order"].together) for n, by in found.items())),
        ),
        ("results a row of the faster stream finds", "rows and results that wait"),
    )


def _count(served: Served, selectivity: float) -> Buffered:
    """Over the run, from a full window on."""
    times = served.rows.arrivals.times
    counted = (times >= SETTING.window) & np.isfinite(served.left)
    seconds = float(times[-1]) - SETTING.window
    waiting = served.began[counted] - times[counted]
    results = selectivity * served.rows.compared[counted] * (served.left[counted] - served.done[counted])
    return Buffered(float(waiting.sum()) / seconds, float(results.sum()) / seconds)


def _compared(finding: float, by: dict[Policy, Buffered]) -> str:
    one, other = by["sync-filter"].together, by["filter-order"].together
    return f"{finding:g} results a row: {one:.1f} wait under Sync-Filter, {other:.1f} under Filter-Order"
