"""Equations 3, 5, 7 and 8 against a run of what they count: evenly spaced rows, looked up one at a time."""

from __future__ import annotations

from dataclasses import dataclass

from braid.control.ordering import Ordering
from experiments.in_order.arrivals import FAST, periodic
from experiments.in_order.equations import (
    LARGEST_GAIN,
    Setting,
    gain_of_share,
    keeps_up,
    mean_filter_order,
    mean_sync_filter,
)
from experiments.in_order.rows import prepare
from experiments.in_order.server import Servers, serve
from experiments.in_order.size import Size
from experiments.outcome import Claim, Curve, Outcome

WINDOW = 60.0
SECONDS = 300.0
RATES = ((1.0, 10.0), (0.5, 10.0), (2.0, 6.0))
SHARES: dict[Servers, tuple[float, ...]] = {
    "shared": (0.05, 0.1, 0.2, 0.3, 0.4, 0.49),
    "apart": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
}
NAMES: dict[Servers, str] = {"shared": "one for both", "apart": "one a stream"}
HOW = f"""
Rows at even distances, windows of {WINDOW:g} s, rates of {", ".join(f"{s:g} and {f:g}" for s, f in RATES)} rows a
second. Rows are looked up one at a time, each for c seconds a row of the other stream in its window; a row has left
when it was looked up, the other stream has reached it, and all earlier rows have left. Counted are the rows of the
faster stream that come when the window is full.

Equation 3 is exact where the first of the n rows comes right after a row of the slower stream (anywhere else in the gap
all rows wait up to 1/λ2 less), the windows are full, and the server is free again whenever a slower row comes. The last
includes the lookup of the slower row itself, which the equation does not mention: it takes C_T = c·|w|·λ2, as long as
those of the n rows together, and falls after them, while the next rows wait anyway. Together they take 2·c·|w|·λ1·λ2
of the time. So equation 1 is the limit if each stream's lookups have a server of their own; one server for both keeps
up to c·|w|·λ1·λ2 = 1/2, where the gain is one third. The run has both.
"""


@dataclass(frozen=True)
class Point:
    """Mean response times of the faster stream's rows, and what the equations say."""

    servers: Servers
    setting: Setting
    sync_filter: float
    filter_order: float

    @property
    def gain(self) -> float:
        return 1 - self.filter_order / self.sync_filter


def equations(size: Size) -> Outcome:
    """Every share at which the system keeps up."""
    del size  # the run is short
    points = [_run(servers, *rates, share) for servers, shares in SHARES.items() for rates in RATES for share in shares]
    third = max(abs(p.sync_filter / mean_sync_filter(p.setting) - 1) for p in points)
    fifth = max(abs(p.filter_order / mean_filter_order(p.setting) - 1) for p in points)
    seventh = max(abs(p.gain - gain_of_share(p.setting.share)) for p in points)
    largest = {servers: max(p.gain for p in points if p.servers == servers) for servers in SHARES}
    shown = [p for p in points if (p.setting.slow, p.setting.fast) == RATES[0]]
    return Outcome(
        "equations",
        "Response times and the equations, evenly spaced rows",
        HOW.strip(),
        "Equations 1 to 8, Figure 5",
        (
            Claim("mean response of Sync-Filter", "equation 3", f"within {third:.1%} of it", third <= 0.1),
            Claim("mean response of Filter-Order", "equation 5", f"within {fifth:.1%} of it", fifth <= 0.1),
            Claim("gain of Filter-Order", "equation 7", f"within {seventh:.3f} of it", seventh <= 0.05),
            Claim(
                "the gain is at most one half while the system keeps up",
                "0.5, at c·w·λ1·λ2 = 1",
                f"{largest['apart']:.2f} with a server for each stream, {largest['shared']:.2f} with one for both",
                max(largest.values()) <= LARGEST_GAIN and largest["apart"] > 0.45,
            ),
            _limit(),
        ),
        ("server, c·w·λ1·λ2", "Sync-Filter", "equation 3", "Filter-Order", "equation 5", "gain", "equation 7"),
        tuple(_row(point) for point in shown),
        (
            Curve("Sync-Filter", tuple((p.setting.share, p.sync_filter) for p in shown if p.servers == "apart")),
            Curve("equation 3", tuple((s, mean_sync_filter(_setting(*RATES[0], s))) for s in SHARES["apart"])),
            Curve("Filter-Order", tuple((p.setting.share, p.filter_order) for p in shown if p.servers == "apart")),
            Curve("equation 5", tuple((s, mean_filter_order(_setting(*RATES[0], s))) for s in SHARES["apart"])),
        ),
        ("c·|w|·λ1·λ2", "mean response, s"),
    )


def _limit() -> Claim:
    """Responses grow with the length of the run beyond equation 1, or for one server beyond half of it, not before."""
    below: dict[Servers, float] = {"apart": 0.98, "shared": 0.49}
    beyond: dict[Servers, float] = {"apart": 1.2, "shared": 0.6}
    return Claim(
        "the system keeps up while c·w < 1/(λ1·λ2)",
        "equation 1",
        "with a server for each stream, yes; one for both keeps up to half of that",
        all(_is_bounded(*one) for one in below.items()) and not any(_is_bounded(*one) for one in beyond.items()),
    )


def _is_bounded(servers: Servers, share: float) -> bool:
    short, long = (_run(servers, *RATES[0], share, seconds).filter_order for seconds in (SECONDS, 2 * SECONDS))
    return long < 1.01 * short


def _setting(slow: float, fast: float, share: float) -> Setting:
    return Setting(slow, fast, share / (WINDOW * slow * fast), WINDOW)


def _run(servers: Servers, slow: float, fast: float, share: float, seconds: float = SECONDS) -> Point:
    setting = _setting(slow, fast, share)
    assert keeps_up(setting) == (share < 1)
    rows = prepare(periodic(slow, fast, seconds), WINDOW, setting.cost)
    responses = [
        serve(rows, Ordering(policy, 0.0), servers).response(WINDOW + 1, (FAST,))
        for policy in ("sync-filter", "filter-order")
    ]
    return Point(servers, setting, *responses)


def _row(point: Point) -> tuple[str, ...]:
    share = point.setting.share
    return (
        f"{NAMES[point.servers]}, {share:.2f}",
        f"{point.sync_filter:.3f} s",
        f"{mean_sync_filter(point.setting):.3f} s",
        f"{point.filter_order:.3f} s",
        f"{mean_filter_order(point.setting):.3f} s",
        f"{point.gain:.3f}",
        f"{gain_of_share(share):.3f}",
    )
