"""Figure 5 and equations 1 to 8 against a run of what they count: evenly spaced rows, looked up one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from braid.control.ordering import Ordering
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.in_order.arrivals import FAST, periodic
from experiments.in_order.equations import (
    LARGEST_GAIN,
    Setting,
    gain_of_share,
    mean_filter_order,
    mean_sync_filter,
)
from experiments.in_order.policies import FIXED
from experiments.in_order.rows import prepare
from experiments.in_order.server import Servers, serve
from experiments.in_order.size import Size
from experiments.pictures import Picture, Series

WINDOW = 60.0
SECONDS = 300.0
RATES = ((1.0, 10.0), (0.5, 10.0), (2.0, 6.0))
SHARES: dict[Servers, tuple[float, ...]] = {
    "shared": (0.05, 0.1, 0.2, 0.3, 0.4, 0.49),
    "apart": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.98),
}
DAY = 86_400.0
DOUBLING = tuple(1e-8 * 2**number for number in range(7))  # c of Figure 5, seconds
AFTER_A_DAY = 600.0
BELOW: dict[Servers, float] = {"apart": 0.98, "shared": 0.49}
BEYOND: dict[Servers, float] = {"apart": 1.2, "shared": 0.6}
ONE_SERVER = 0.9  # of the limit of equation 1
BOUNDED = 1.01  # times as long in a run twice as long
NAMES: dict[str, str] = {"shared": "one for both", "apart": "one a stream"}
SAME = "the run has the evenly spaced rows of which the equation is the mean"


def measure(size: Size) -> Measured:
    """Every share at which the servers keep up, the costs of Figure 5, and runs of two lengths around the limit."""
    del size  # the runs are short
    points = [_run(servers, *rates, share) for servers, shares in SHARES.items() for rates in RATES for share in shares]
    settings = [Setting(*RATES[0], cost, DAY) for cost in DOUBLING]
    return {
        "points": points,
        "figure": [_point("apart", setting, AFTER_A_DAY) for setting in settings],
        "limits": [_growth(servers, share) for servers in NAMES for share in _around(servers)],
    }


def _around(servers: Any) -> tuple[float, ...]:
    """Shares around the limit of one server and of equation 1."""
    return (BELOW[servers], BEYOND[servers], *((ONE_SERVER,) if servers == "shared" else ()))


def _growth(servers: Any, share: float) -> Measured:
    short, long = (_run(servers, *RATES[0], share, seconds)["filter_order"] for seconds in (SECONDS, 2 * SECONDS))
    return {"servers": servers, "share": share, "growth": long / short}


def _run(servers: Servers, slow: float, fast: float, share: float, seconds: float = SECONDS) -> Measured:
    setting = Setting(slow, fast, share / (WINDOW * slow * fast), WINDOW)
    return _point(servers, setting, seconds - WINDOW)


def _point(servers: Servers, setting: Setting, seconds: float) -> Measured:
    """Mean response times of the faster stream's rows in the seconds after the window is full."""
    rows = prepare(periodic(setting.slow, setting.fast, setting.window + seconds), setting.window, setting.cost)
    found = [serve(rows, Ordering(p, 0.0), servers).response(setting.window + 1, (FAST,)) for p in FIXED]
    return {
        "servers": servers,
        "slow": setting.slow,
        "fast": setting.fast,
        "cost": setting.cost,
        "window": setting.window,
        "sync_filter": found[0],
        "filter_order": found[1],
    }


def describe(measured: Measured, settings: Settings) -> str:
    rates = ", ".join(f"{slow:g} and {fast:g}" for slow, fast in RATES)
    return (
        f"Rows at even distances, windows of {WINDOW:g} s, rates of {rates} rows a second; and the setting of Figure "
        "5: windows of a day, 1 and 10 rows a second, c doubled from 0.01 µs on. Rows are looked up one at a time, "
        "each for c seconds a row of the other stream in its window; a row has left when it was looked up, the other "
        "stream has reached it, and all earlier rows have left. Counted are the rows of the faster stream that come "
        "when the window is full.\n\n"
        "Equation 3 does not mention the lookup of the slower row itself. It takes c·|w|·λ2, as long as those of the "
        "λ2/λ1 faster rows together, and falls after them, while the next rows wait anyway. Together they take "
        "2·c·|w|·λ1·λ2 of the time. So equation 1 is the limit if each stream's lookups have a server of their own; "
        "one server for both keeps up to half of that, where one third is gained."
    )


def setting_of(point: Measured) -> Setting:
    return Setting(point["slow"], point["fast"], point["cost"], point["window"])


def gain(point: Measured) -> float:
    return 1 - float(point["filter_order"] / point["sync_filter"])


def _all(measured: Measured) -> list[Measured]:
    return [*measured["points"], *measured["figure"]]


def third(measured: Measured) -> Verdict:
    worst = max(abs(p["sync_filter"] / mean_sync_filter(setting_of(p)) - 1) for p in _all(measured))
    return Verdict(f"within {worst:.1%} of it", worst <= 0.1)


def fifth(measured: Measured) -> Verdict:
    worst = max(abs(p["filter_order"] / mean_filter_order(setting_of(p)) - 1) for p in _all(measured))
    return Verdict(f"within {worst:.1%} of it", worst <= 0.1)


def seventh(measured: Measured) -> Verdict:
    worst = max(abs(gain(p) - gain_of_share(setting_of(p).share)) for p in _all(measured))
    return Verdict(f"within {worst:.3f} of it", worst <= 0.05)


def half(measured: Measured) -> Verdict:
    largest = {name: max(gain(p) for p in _all(measured) if p["servers"] == name) for name in NAMES}
    said = f"{largest['apart']:.2f} with a server for each stream, {largest['shared']:.2f} with one for both"
    return Verdict(said, max(largest.values()) <= LARGEST_GAIN)


def limit(measured: Measured, servers: str) -> Verdict:
    """Whether response times grow with the length of the run beyond the limit of equation 1, and not before."""
    found = {one["share"]: one["growth"] for one in measured["limits"] if one["servers"] == servers}
    said = ", ".join(
        f"{growth:.2f} times as long at {share:g} in a run twice as long" for share, growth in found.items()
    )
    holds = all((growth <= BOUNDED) == (share < 1) for share, growth in found.items())
    return Verdict(said, holds, "One server has the lookups of both streams to do, which take twice the time.")


def tables(measured: Measured) -> list[Table]:
    headings = ("", "Sync-Filter, s", "equation 3, s", "Filter-Order, s", "equation 5, s", "gain", "equation 7")
    shown = [p for p in measured["points"] if [p["slow"], p["fast"]] == list(RATES[0])]
    return [
        Table(headings, tuple(_row(f"{1e6 * p['cost']:.2g} µs", p) for p in measured["figure"]), "Figure 5, by c."),
        Table(headings, _rows(shown), "Windows of a minute, by server and c·w·λ1·λ2."),
    ]


def _rows(points: Sequence[Measured]) -> tuple[tuple[str, ...], ...]:
    return tuple(_row(f"{NAMES[p['servers']]}, {setting_of(p).share:.2f}", p) for p in points)


def _row(name: str, point: Measured) -> tuple[str, ...]:
    setting = setting_of(point)
    return (
        name,
        f"{point['sync_filter']:.3f}",
        f"{mean_sync_filter(setting):.3f}",
        f"{point['filter_order']:.3f}",
        f"{mean_filter_order(setting):.3f}",
        f"{gain(point):.3f}",
        f"{gain_of_share(setting.share):.3f}",
    )


def pictures(measured: Measured) -> list[Picture]:
    points, along = measured["figure"], "c, the cost of comparing two rows, µs"
    place = [1e6 * point["cost"] for point in points]
    lines = {
        "Sync-Filter": [point["sync_filter"] for point in points],
        "equation 3": [mean_sync_filter(setting_of(point)) for point in points],
        "Filter-Order": [point["filter_order"] for point in points],
        "equation 5": [mean_filter_order(setting_of(point)) for point in points],
    }
    series = tuple(
        Series(name, tuple(zip(place, values, strict=True)), dashed=name.startswith("equation"))
        for name, values in lines.items()
    )
    gains = (
        Series("run", tuple((one, gain(p)) for one, p in zip(place, points, strict=True))),
        Series(
            "equation 7",
            tuple((one, gain_of_share(setting_of(p).share)) for one, p in zip(place, points, strict=True)),
            dashed=True,
        ),
    )
    label = ("mean response time, s",)
    return [
        Picture("", "How long a row takes, rows at even distances", along, label, series, along_scale="log"),
        Picture("saved", "What Filter-Order saves", along, ("share saved",), gains, along_scale="log"),
    ]


EQUATIONS = Experiment(
    "equations",
    "In the model: the equations, evenly spaced rows",
    ("Figure 5", "Equations 1 to 8"),
    measure,
    describe,
    (
        Claim("third", "mean response of Sync-Filter", "equation 3", third, SAME),
        Claim("fifth", "mean response of Filter-Order", "equation 5", fifth, SAME),
        Claim("seventh", "gain of Filter-Order", "equation 7", seventh, SAME),
        Claim(
            "half",
            "the gain is at most one half while the system keeps up",
            "0.5, at c·w·λ1·λ2 = 1",
            half,
            "x / (1 + x) is less than one half for every x below 1",
        ),
        Claim(
            "limit-apart",
            "the system keeps up while c·w < 1/(λ1·λ2), a server for each stream",
            "equation 1",
            lambda measured: limit(measured, "apart"),
        ),
        Claim(
            "limit",
            "the system keeps up while c·w < 1/(λ1·λ2), one server for both streams",
            "equation 1",
            lambda measured: limit(measured, "shared"),
        ),
    ),
    tables,
    pictures,
)
