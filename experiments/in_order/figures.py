"""Figures 7 to 10 in the model: exponential gaps, the three policies on the same arrivals, one server."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from braid.control.ordering import Ordering, Policy
from experiments.in_order.adaptive import PERIOD_MS
from experiments.in_order.arrivals import exponential
from experiments.in_order.equations import Setting, gain_of_share
from experiments.in_order.rows import Rows, prepare
from experiments.in_order.server import Served, serve
from experiments.in_order.size import Size
from experiments.outcome import Claim, Curve, Outcome

ALPHA = 0.3
WINDOW = 60.0
FAST_RATE = 10.0
SWITCHING_COST = 0.0005
COSTS = (1e-6, 1e-5, 1e-4, 2e-4, 3e-4, 4e-4, 5e-4, 6e-4, 7e-4, 1e-3)
SLOW_RATES = (0.01, 0.03, 0.1, 0.3, 0.5, 0.7, 1.0)
NAMES: dict[Policy, str] = {
    "sync-filter": "Sync-Filter",
    "filter-order": "Filter-Order",
    "adaptive": "Adaptive",
}
FIXED: tuple[Policy, ...] = ("sync-filter", "filter-order")
AS_WELL = 0.05  # longer at most
NEAR = 0.1  # of alpha: nearer than that chance decides which side of it is measured
HOW = (
    f"Exponential gaps, windows of {WINDOW:g} s, the faster stream {FAST_RATE:g} rows a second, alpha {ALPHA:g}, one "
    "server for both streams' lookups. The controller is the engine's, asked every "
    f"{PERIOD_MS / 1000:g} s of the run's clock; it compares with alpha the share of time that lookups of the faster "
    "stream took, not the product. All rows count, from a full window on."
)


@dataclass(frozen=True)
class Point:
    """Mean response times under the three policies, over runs with other arrivals.

    `gain_apart` is what Filter-Order saves where each stream's lookups have a server of their own.
    """

    setting: Setting
    responses: dict[Policy, float]
    gain_apart: float
    holding_results: float
    switches: float

    @property
    def gain(self) -> float:
        return 1 - self.responses["filter-order"] / self.responses["sync-filter"]

    @property
    def keeps_up(self) -> bool:
        return 2 * self.setting.share < 1

    @property
    def is_near(self) -> bool:
        return abs(self.setting.share / ALPHA - 1) < NEAR

    @property
    def selected(self) -> Policy:
        """What the paper's inequality selects."""
        return "filter-order" if self.setting.share >= ALPHA * (1 - 1e-9) else "sync-filter"

    @property
    def excess(self) -> float:
        """How much longer Adaptive takes than what its inequality selects."""
        return self.responses["adaptive"] / self.responses[self.selected] - 1


def costs(size: Size) -> Outcome:
    """Comparing two rows takes 1 µs to 1 ms, as when more queries share the machine."""
    points = [_measure(Setting(1.0, FAST_RATE, cost, WINDOW), size) for cost in COSTS]
    switching = next(point.setting.cost for point in points if point.holding_results > 0.5)
    gains = [point.gain for point in points]
    apart = [point.gain_apart for point in points]
    peak = max((point for point in points if point.keeps_up), key=lambda point: point.gain)
    at_switch = next(point for point in points if point.setting.cost == SWITCHING_COST)
    behind = points[-1]
    return Outcome(
        "costs",
        "The cost of comparing two rows",
        f"{HOW} {size.seeds} runs of {size.minutes} minutes, the slower stream 1 row a second. At 1 ms one server does "
        "not keep up with both streams: all response times grow as long as the run goes on.",
        "Figures 7 and 8",
        (
            Claim(
                "the gain of Filter-Order grows with c, a server for each stream",
                "from about 0 to more than 0.5",
                f"from {apart[0]:.3f} at 1 µs to {apart[-1]:.2f} at 1 ms",
                apart == sorted(apart),
            ),
            Claim(
                "the gain of Filter-Order grows with c, one server for both streams",
                "from about 0 to more than 0.5",
                f"from {gains[0]:.3f} at 1 µs to {peak.gain:.2f} at {1000 * peak.setting.cost:g} ms, "
                f"{gains[-1]:.2f} at 1 ms",
                gains == sorted(gains),
                "From where the server lags behind both streams' lookups, rows queue for it under every policy.",
            ),
            Claim(
                "the gain is at most about one half while the system keeps up",
                "0.5; more where only Sync-Filter lags behind",
                f"{peak.gain:.2f}; where the server lags, all policies do (gain {behind.gain:.2f} at 1 ms)",
                peak.gain <= 0.5,
            ),
            Claim(
                "the gain at c = 0.5 ms is larger than equation 7 says",
                "about 0.45 instead of 0.23",
                f"{at_switch.gain:.2f}: long gaps let so many rows wait that their lookups delay the next ones",
                at_switch.gain > gain_of_share(at_switch.setting.share),
            ),
            Claim(
                "Adaptive holds results from c = 0.5 ms on",
                "0.5 ms",
                f"{1000 * switching:g} ms: there for {at_switch.holding_results:.0%} of the run",
                switching == SWITCHING_COST,
            ),
            *_following(points),
        ),
        _headings("c"),
        tuple(_row(f"{1e6 * point.setting.cost:g} µs", point) for point in points),
        _curves([point for point in points if point.keeps_up], lambda point: 1000 * point.setting.cost),
        ("c, ms", "mean response, s"),
    )


def rates(size: Size) -> Outcome:
    """The slower stream brings 0.01 to 1 rows a second."""
    points = [_measure(Setting(slow, FAST_RATE, SWITCHING_COST, WINDOW), size) for slow in SLOW_RATES]
    gains = [point.gain for point in points]
    slowest, quickest = points[0].responses, points[-1].responses
    return Outcome(
        "rates",
        "The rate of the slower stream",
        f"{HOW} c is 0.5 ms. {size.seeds} runs of {size.minutes} minutes, longer ones where the slower stream would "
        f"bring less than {size.slow_rows} rows.",
        "Figures 9 and 10",
        (
            Claim(
                "the gain of Filter-Order grows with the slower stream's rate",
                "from about 0 to about 0.45",
                f"from {gains[0]:.3f} to {gains[-1]:.2f}",
                gains == sorted(gains),
            ),
            Claim(
                "responses take more than a minute when the slower stream brings 0.01 rows a second",
                "all policies",
                f"{min(slowest.values()):.0f} to {max(slowest.values()):.0f} s, and {min(quickest.values()):.1f} to "
                f"{max(quickest.values()):.1f} s at 1 row a second",
                min(slowest.values()) > 60,
            ),
            *_following(points),
        ),
        _headings("λ1"),
        tuple(_row(f"{point.setting.slow:g}", point) for point in points),
        (
            Curve("gain of Filter-Order", tuple((point.setting.slow, point.gain) for point in points)),
            Curve("gain of Adaptive", tuple((point.setting.slow, _gain_of_adaptive(point)) for point in points)),
            Curve("equation 7", tuple((p.setting.slow, gain_of_share(p.setting.share)) for p in points)),
        ),
        ("rows a second of the slower stream", "saved of Sync-Filter's response"),
    )


def _following(points: Sequence[Point]) -> tuple[Claim, ...]:
    """Adaptive beside what its inequality selects, and beside Filter-Order."""
    clear = max(point.excess for point in points if not point.is_near)
    near = max(point.excess for point in points if point.is_near)
    worst = max(point.responses["adaptive"] / point.responses["filter-order"] for point in points)
    limit = 1.05 * (1 + ALPHA)
    return (
        Claim(
            "Adaptive does as well as the policy its inequality selects",
            "it follows it",
            f"at most {max(0.0, clear):.1%} longer",
            clear <= AS_WELL,
        ),
        Claim(
            "Adaptive does as well as Filter-Order where the product is alpha itself",
            "it becomes Filter-Order there",
            f"{near:.1%} longer: chance puts the measured share on either side",
            near <= AS_WELL,
            "Every change of policy costs what waited under the other one.",
        ),
        Claim(
            "Adaptive is never much worse than Filter-Order",
            f"at most 1 + alpha = {1 + ALPHA:g} times",
            f"at most {worst:.2f} times (limit {limit:.2f})",
            worst <= limit,
        ),
    )


def _measure(setting: Setting, size: Size) -> Point:
    runs = [_run(setting, size, seed) for seed in range(size.seeds)]
    return Point(
        setting,
        {policy: statistics.fmean(run[policy].response(WINDOW) for run in runs) for policy in NAMES},
        _gain_apart([run["sync-filter"].rows for run in runs]),
        statistics.fmean(_share_holding_results(run["adaptive"]) for run in runs),
        statistics.fmean(len(run["adaptive"].switches) for run in runs),
    )


def _run(setting: Setting, size: Size, seed: int) -> dict[Policy, Served]:
    seconds = WINDOW + max(60.0 * size.minutes, size.slow_rows / setting.slow)
    rows = prepare(exponential(setting.slow, setting.fast, seconds, seed), WINDOW, setting.cost)
    return {policy: serve(rows, Ordering(policy, ALPHA)) for policy in NAMES}


def _gain_apart(arrivals: Sequence[Rows]) -> float:
    mean = {
        policy: statistics.fmean(serve(rows, Ordering(policy, ALPHA), "apart").response(WINDOW) for rows in arrivals)
        for policy in FIXED
    }
    return 1 - mean["filter-order"] / mean["sync-filter"]


def _share_holding_results(served: Served) -> float:
    """Of the time from a full window on."""
    end = float(served.rows.arrivals.times[-1])
    seconds = [max(WINDOW, switch.second) for switch in served.switches] + [end]
    buffered = sum(
        until - switch.second if switch.second > WINDOW else until - WINDOW
        for switch, until in zip(served.switches, seconds[1:], strict=True)
        if switch.holds == "results"
    )
    return buffered / (end - WINDOW)


def _gain_of_adaptive(point: Point) -> float:
    return 1 - point.responses["adaptive"] / point.responses["sync-filter"]


def _headings(along: str) -> tuple[str, ...]:
    return (
        along,
        "c·w·λ1·λ2",
        *NAMES.values(),
        "gain",
        "a server each",
        "equation 7",
        "holding results",
        "switches a run",
    )


def _row(name: str, point: Point) -> tuple[str, ...]:
    return (
        name,
        f"{point.setting.share:.4g}",
        *(f"{point.responses[policy]:.3g} s" for policy in NAMES),
        f"{point.gain:.3f}",
        f"{point.gain_apart:.3f}",
        f"{gain_of_share(point.setting.share):.3f}",
        f"{point.holding_results:.0%}",
        f"{point.switches:.1f}",
    )


def _curves(points: Sequence[Point], along: Callable[[Point], float]) -> tuple[Curve, ...]:
    return tuple(
        Curve(name, tuple((along(point), point.responses[policy]) for point in points))
        for policy, name in NAMES.items()
    )
