"""Units that follow the load, and no false move during a short fluctuation (Figure 12), on a compressed clock."""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from itertools import pairwise

from braid.control.elasticity import Elasticity
from braid.optimizer.strategies import Biclique
from braid.testing import InlineQuery, ManualClock
from experiments.bistream import counting, queries
from experiments.bistream.counting import ROWS_PER_BATCH
from experiments.bistream.queries import TpchQuery, paced
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

MINUTES = 50
STEP_SECONDS = 15
WINDOW_SECONDS = 300
BASE_LOAD = 0.55  # of eight units at the first rate
LOW, HIGH, TARGET = 0.3, 0.8, 0.6
PATIENCE = 3
FLUCTUATION = (22, 31)
# From which minute on rows come at which multiple of the first rate.
RATES = ((0, 1.0), (10, 1.6), (22, 1.9), (24, 1.1), (26, 1.9), (28, 1.1), (30, 1.6), (34, 0.62))
# Minutes at which a rate has lasted for more than a window and the controller has had time to act.
SETTLED = (9.5, 21.5, 49.5)
# Those before which no move was made for more than a window, so that every row is in a unit of the newest layout.
ALL_IN_NEWEST = (9.5, 49.5)
MOST_ABOVE_MEAN = 1.25


@dataclass(frozen=True)
class Moment:
    """The state of the run after a step; `loads` of both sides, as shares of their units' capacity."""

    minute: float
    rate: float
    units: tuple[int, ...]
    stored: tuple[int, int]
    fullest: int
    adaptations: tuple[str, ...]


def measure_following(size: Size) -> Measured:
    """Fifty minutes of a rate that rises, wavers and falls, with a window of five."""
    query = size.query("q7")
    steady = _run(query, size.elastic_rows, None, minutes=8)
    # A side has four units at first: the larger one has the base load.
    capacity = round(max(steady[-1].stored) / 4 / BASE_LOAD)
    settings = Elasticity(LOW, HIGH, TARGET, PATIENCE, 60_000, capacity, min_units=1, max_units=None)
    moments = _run(query, size.elastic_rows, settings, MINUTES)
    return {"capacity": capacity, "moments": [asdict(moment) for moment in moments]}


def _run(query: TpchQuery, rows: int, settings: Elasticity | None, minutes: int) -> list[Moment]:
    plan, clock = query.draft(WINDOW_SECONDS)[0].logical_plan(), ManualClock(0)
    seconds = range(0, minutes * 60, STEP_SECONDS)
    rates = [2 * rows / STEP_SECONDS * _rate(second / 60) for second in seconds]
    tables = paced(query.selected(), rates, STEP_SECONDS)
    found = []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        started = InlineQuery(
            plan,
            directory,
            strategy=Biclique((4, 4)),
            clock=clock,
            elasticity=settings,
            rows_per_batch=ROWS_PER_BATCH,
        )
        for step, (second, batch) in enumerate(zip(seconds, tables, strict=True)):
            clock.now_ms = second * 1000
            progress = started.run(step, batch)
            manifest = started.steps.manifest
            sides = [sum(load.size for load in manifest.loads if load.stream == side) for side in (0, 1)]
            found.append(
                Moment(
                    minute=second / 60,
                    rate=_rate(second / 60),
                    units=tuple(manifest.layout.units),
                    stored=(sides[0], sides[1]),
                    fullest=max((unit["bytes"] for unit in progress["units"]), default=0) if progress else 0,
                    adaptations=tuple(progress["adaptations"]) if progress else (),
                )
            )
    return found


def _rate(minute: float) -> float:
    return next(rate for begin, rate in reversed(RATES) if minute >= begin)


def _moves(measured: Measured) -> list[tuple[float, int, str]]:
    """The log: the minute, the units added or removed, and what the engine said."""
    moments = measured["moments"]
    return [
        (after["minute"], sum(after["units"]) - sum(before["units"]), "; ".join(after["adaptations"]))
        for before, after in pairwise(moments)
        if after["units"] != before["units"]
    ]


def _said(moves: list[tuple[float, int, str]]) -> str:
    return ", ".join(f"{change:+d} at minute {minute:.0f}" for minute, change, _ in moves) or "none"


def _added(measured: Measured) -> Verdict:
    """Between the rise and the fluctuation."""
    moves = [move for move in _moves(measured) if RATES[1][0] <= move[0] < FLUCTUATION[0]]
    return Verdict(_said(moves), sum(change for _, change, _ in moves) > 0)


def _removed(measured: Measured) -> Verdict:
    moves = [move for move in _moves(measured) if move[0] >= RATES[-1][0]]
    return Verdict(_said(moves), sum(change for _, change, _ in moves) < 0)


def _steady(measured: Measured) -> Verdict:
    moves = [move for move in _moves(measured) if FLUCTUATION[0] <= move[0] < FLUCTUATION[1]]
    return Verdict(_said(moves), not moves)


def _no_others(measured: Measured) -> Verdict:
    """While the windows fill at the first rate, and between the fluctuation and the fall."""
    spans = ((0, RATES[1][0]), (FLUCTUATION[1], RATES[-1][0]))
    moves = [move for move in _moves(measured) if any(begin <= move[0] < end for begin, end in spans)]
    return Verdict(_said(moves), not moves)


def _loads(measured: Measured) -> list[tuple[float, list[float]]]:
    return [
        (m["minute"], [s / n / measured["capacity"] for s, n in zip(m["stored"], m["units"], strict=True)])
        for m in measured["moments"]
    ]


def _within(measured: Measured) -> Verdict:
    found = {minute: loads for minute, loads in _loads(measured) if minute in SETTLED}
    texts = [(minute, " and ".join(f"{load:.2f}" for load in loads)) for minute, loads in found.items()]
    here = ", ".join(f"{text} at {minute:g}" for minute, text in texts)
    return Verdict(here, all(LOW <= load <= HIGH for loads in found.values() for load in loads))


def _evenly(measured: Measured) -> Verdict:
    """The fullest unit beside the mean of its side."""
    found = {}
    for moment in measured["moments"]:
        if moment["minute"] in ALL_IN_NEWEST:
            mean = max(s / n for s, n in zip(moment["stored"], moment["units"], strict=True))
            found[moment["minute"]] = moment["fullest"] / mean
    here = ", ".join(f"{ratio:.2f} at {minute:g}" for minute, ratio in found.items())
    why = "Rows stay where they were stored; few rows of a step reach few units."
    return Verdict(f"the fullest unit over the mean: {here}", max(found.values()) <= MOST_ABOVE_MEAN, why)


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = tuple((f"{minute:.1f}", f"{change:+d}", said) for minute, change, said in _moves(measured))
    return (Table(("minute", "units", "what the engine said"), rows, "All moves of the run:"),)


def _picture(measured: Measured) -> Picture:
    moments, loads = measured["moments"], _loads(measured)
    series = [Series("rate", tuple((m["minute"], m["rate"]) for m in moments), 0)]
    for number, side in enumerate(("suppliers", "line items")):
        series.append(Series(f"units of {side}", tuple((m["minute"], m["units"][number]) for m in moments), 1))
        series.append(Series(f"load of {side}", tuple((minute, by[number]) for minute, by in loads), 2))
    return Picture(
        "",
        "Q7, window of five minutes: units follow the rate",
        "minute",
        ("rate, first = 1", "units", "load of a side"),
        tuple(series),
    )


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Q7 with a window of five minutes from a biclique of 8 units, about {settings['size.elastic_rows']:,} rows of "
        f"each stream a step at first, steps of {STEP_SECONDS} s on a clock that the run moves; rows come again "
        f"when all have come. Thresholds {LOW:g} and {HIGH:g}, target {TARGET:g}, {PATIENCE} equal votes, a vote "
        "a minute. A "
        f"unit's capacity is such that the first rate loads the eight to {BASE_LOAD:g}; so how many units a move adds "
        "or removes follows from the rates chosen here. Nothing migrates: rows expire where they are."
    )


FOLLOWING = Experiment(
    "following",
    "Units following the load",
    ("Figure 12",),
    measure_following,
    _describe,
    (
        Claim("added", "units are added when the rate rises, minutes 10 to 22", "4 at once", _added),
        Claim("removed", "units are removed after the rate falls, from minute 34 on", "6 at once", _removed),
        Claim("steady", "no move while the rate wavers, minutes 22 to 31", "none", _steady),
        Claim("no others", "no move at a steady rate", "none", _no_others),
        Claim("within", "loads settle between the thresholds", "0.3 to 0.8", _within),
        Claim("evenly", "units are balanced without migration", "new rows balance the load", _evenly),
    ),
    _table,
    lambda measured: [_picture(measured)],
    modules=(counting, queries),
)
