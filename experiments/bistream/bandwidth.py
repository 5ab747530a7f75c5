"""Bytes that tasks read of other slots, beside equations 5 and 6, at several rates (Figures 11, 18, 19)."""

from __future__ import annotations

from functools import partial

from braid.optimizer.spreading import sent_bytes
from experiments.bistream import counting, queries
from experiments.bistream.counting import Counted, count
from experiments.bistream.models import label, layout_of, model, units_of
from experiments.bistream.queries import QUERIES, TITLES, TpchQuery, paced
from experiments.bistream.size import Size, papers_rates
from experiments.claims import Claim, Measured, Verdict, all_of, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SETTINGS = ("JM16", "JB8", "JB8-CR2", "JB8-CR4")
FIGURES = {"q5": "Figure 11", "q7": "Figure 18", "band": "Figure 19"}
# Rows a second of both streams together, as in the paper.
RATES: dict[str, tuple[int, ...]] = {
    "q5": (4_000, 15_000, 30_000, 60_000),
    "q7": (10_000, 20_000, 30_000, 50_000),
    "band": (200, 400, 800, 1_600),
}
STEPS = 5
WARM_UP = 1
TOLERANCE = 0.1
UNITS_SHARE_SLOTS = (
    "Bytes read: the equations have every unit on a host of its own. The engine puts the units of both sides with the "
    "same number on one slot, which reads a row once, to store it and to look it up, and does not read again what its "
    "own task took in. So a biclique of 8 units works on 4 slots and reads less than equation 5 says, and a matrix, "
    "whose 16 units have 16 slots, reads about what equation 6 says."
)
FEW_ROWS_REACH_FEW = (
    "At low rates the rows of a second are too few for every unit: random routing sends a task's rows to one unit for "
    "every 1,024 of them, and the fixed bytes of a segment weigh more."
)


def measure_moved(size: Size) -> Measured:
    """Bytes read and modelled in a second, by rate."""
    return {name: {str(rate): _at_rate(size.query(name), rate, size) for rate in RATES[name]} for name in QUERIES}


def _at_rate(query: TpchQuery, rate: int, size: Size) -> Measured:
    """Of every setting, the bytes of a second after the first, in which nothing is there to be looked up in."""
    steps = list(paced(query.selected(), [size.window_share * rate] * STEPS, 1.0))
    plan = query.draft()[0].logical_plan()
    found: Measured = {"rows": sum(table.num_rows for table in steps[-1].values())}
    for setting in SETTINGS:
        run = count(plan, model(setting, query.name), steps, slots=units_of(setting))
        found[setting] = {"read": _a_second(run, "bytesMoved"), "modelled": _a_second(run, "bytesModelled")}
        if setting == "JB8":
            found["streams"] = [size / STEPS for size in _streams(run)]
    for setting in SETTINGS:
        found[setting]["equation"] = sent_bytes(layout_of(setting), found["streams"])
    return found


def _a_second(run: Counted, what: str) -> float:
    return sum(int(step[what]) for step in run.steps[WARM_UP:]) / (STEPS - WARM_UP)


def _streams(run: Counted) -> list[int]:
    """The bytes of each stream, stored once."""
    sizes: dict[int, int] = {unit["unit"]: unit["bytes"] for unit in run.last["units"]}
    return [sum(sizes.get(number, 0) for number in side) for side in (range(4), range(4, 8))]


def _times(query: str, what: str, measured: Measured) -> dict[str, float]:
    """Bytes at the highest rate, over those of the streams."""
    found = measured[query][str(RATES[query][-1])]
    return {setting: found[setting][what] / sum(found["streams"]) for setting in SETTINGS}


def _said(times: dict[str, float]) -> str:
    return ", ".join(f"{setting} {value:.2f}" for setting, value in times.items()) + " times the streams"


def _more(query: str, measured: Measured) -> Verdict:
    times = _times(query, "read", measured)
    return Verdict(_said(times), times["JB8"] > times["JM16"], UNITS_SHARE_SLOTS)


def _less(query: str, measured: Measured) -> Verdict:
    times = _times(query, "read", measured)
    return Verdict(_said(times), times["JB8-CR4"] < times["JB8-CR2"] < times["JB8"], FEW_ROWS_REACH_FEW)


def _as_equation(query: str, what: str, measured: Measured) -> Verdict:
    times, expected = _times(query, what, measured), _times(query, "equation", measured)
    holds = all_of(*(within(times[setting], expected[setting], TOLERANCE) for setting in SETTINGS))
    return Verdict(f"{_said(times)}; by the equations {_said(expected)}", holds, UNITS_SHARE_SLOTS)


def _proportional(query: str, measured: Measured) -> Verdict:
    lowest, highest = (measured[query][str(RATES[query][place])] for place in (0, -1))
    ratios = {s: highest[s]["read"] / highest["rows"] / (lowest[s]["read"] / lowest["rows"]) for s in SETTINGS}
    worst = max(ratios, key=lambda setting: abs(ratios[setting] - 1))
    here = f"bytes a row at the highest rate {ratios[worst]:.2f} of those at the lowest ({worst})"
    return Verdict(here, within(ratios[worst], 1.0, 2 * TOLERANCE), FEW_ROWS_REACH_FEW)


def _claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} more",
            f"{title}: random routing (JB8) reads more than a matrix of as many partitions (JM16)",
            "JB8 > JM16",
            partial(_more, query),
        ),
        Claim(
            f"{query} less",
            f"{title}: subgroups reduce what a biclique reads",
            "JB8-CR4 < JB8-CR2 < JB8",
            partial(_less, query),
        ),
        Claim(
            f"{query} equations",
            f"{title}: tasks read what equations 5 and 6 say",
            "equations 5 and 6",
            partial(_as_equation, query, "read"),
        ),
        Claim(
            f"{query} proportional",
            f"{title}: the bandwidth is proportional to the rate",
            "lines through the origin",
            partial(_proportional, query),
        ),
        Claim(
            f"{query} modelled",
            f"{title}: bytes that units on hosts of their own would receive, modelled, are those of the equations",
            "equations 5 and 6",
            partial(_as_equation, query, "modelled"),
            # Ranges have no equation: rows near the end of one visit the next.
            certain="" if query == "band" else "rows are counted where the equations send them",
        ),
    )


def _table(measured: Measured) -> tuple[Table, ...]:
    headings = ("query, setting", *("read", "modelled", "equation"))
    rows = []
    for query in QUERIES:
        by_what = {what: _times(query, what, measured) for what in ("read", "modelled", "equation")}
        rows += [
            (f"{TITLES[query]}, {label(setting)} ({setting})", *(f"{times[setting]:.2f}" for times in by_what.values()))
            for setting in SETTINGS
        ]
    return (Table(headings, tuple(rows), "Bytes at the highest rate, as multiples of the streams':"),)


def _picture(query: str, measured: Measured) -> Picture:
    series = tuple(
        Series(label(s), tuple((run["rows"], run[s]["read"] / 1e6) for run in measured[query].values()))
        for s in SETTINGS
    )
    title = f"{TITLES[query]}: bytes that tasks read of other slots"
    return Picture(query, title, "rows a second that pass the selections", ("megabytes a second",), series)


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"{STEPS} steps of a second each at {papers_rates(settings)}, counted after the selections, on as many slots "
        "as units; the first second does not count. Read is what tasks reported to have read that another slot wrote; "
        "modelled is what units on hosts of their own would receive."
    )


MOVED = Experiment(
    "moved",
    "Bytes that tasks read, four partitions of each stream",
    tuple(FIGURES.values()),
    measure_moved,
    _describe,
    tuple(claim for query in QUERIES for claim in _claims(query)),
    _table,
    lambda measured: [_picture(query, measured) for query in QUERIES],
    modules=(counting, queries),
)
