"""The work of the busiest unit, counted: what decides the rate where every unit has a machine (Figures 7 and 8)."""

from __future__ import annotations

from collections import Counter
from functools import partial

from experiments.bistream import counting, queries
from experiments.bistream.counting import Counted, count
from experiments.bistream.models import label, model, units_of
from experiments.bistream.queries import QUERIES, TITLES, in_steps
from experiments.bistream.size import Size
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SETTINGS = ("JM16", "JB8", "JB16", "JB16-CR4", "JB16-CR8")
RANGES_FOLLOW_ROWS = (
    "Subgroups: those of a key hold the rows of its hash, those of a band the rows of a range, and rows near the end "
    "of a range visit the next one too; the busiest unit is that of the most frequent keys or the widest range."
)


def measure_busiest(size: Size) -> Measured:
    """Of the units of each setting: rows received, to be stored or looked up, and pairs compared."""
    found: Measured = {}
    for name in QUERIES:
        query = size.query(name)
        plan, steps = query.draft()[0].logical_plan(), in_steps(query.whole(), size.steps)
        found[name] = {}
        for setting in SETTINGS:
            units = units_of(setting)
            run = count(plan, model(setting, name), steps, slots=units)
            compared = Counter[int]()
            for step in run.steps:
                compared.update({unit["unit"]: int(unit["pairsCompared"]) for unit in step["units"]})
            found[name][setting] = {
                "received": _received(run, setting),
                "compared": [compared[unit] for unit in range(units)],
            }
    return found


def _received(run: Counted, setting: str) -> list[int]:
    """Rows that came to each unit: those it stores and, in a biclique, those of the other stream looked up in it.

    A slot has at most one unit of each side. In a matrix a row is looked up where it is stored, and came once.
    """
    units = units_of(setting)
    stored: dict[int, int] = {unit["unit"]: int(unit["rowsStored"]) for unit in run.last["units"]}
    if setting.startswith("JM"):
        return [stored.get(unit, 0) for unit in range(units)]
    half = units // 2
    return [stored.get(unit, 0) + run.looked_up[unit % half, 1 - unit // half] for unit in range(units)]


def _most(query: str, setting: str, measured: Measured) -> int:
    return int(max(measured[query][setting]["received"]))


def _more(query: str, measured: Measured) -> Verdict:
    times = _most(query, "JB16", measured) / _most(query, "JM16", measured)
    return Verdict(f"{times:.2f} times the rows", times > 1)


def _fewer(query: str, measured: Measured) -> Verdict:
    most = _most(query, "JB16", measured)
    four, eight = (_most(query, f"JB16-CR{groups}", measured) / most for groups in (4, 8))
    here = f"4 subgroups {four:.2f}, 8 subgroups {eight:.2f} of random routing"
    return Verdict(here, eight < four < 1, RANGES_FOLLOW_ROWS)


def _claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} random",
            f"{title}: random routing gives a unit more rows than a matrix of as many units",
            "JB16 > JM16",
            partial(_more, query),
            certain="every row visits all 8 units of the other side, and only a quarter of them one unit of a matrix",
        ),
        Claim(
            f"{query} subgroups",
            f"{title}: the more subgroups, the fewer rows come to the busiest unit",
            "JB16-CR8 < JB16-CR4 < JB16",
            partial(_fewer, query),
        ),
    )


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = []
    for query in QUERIES:
        for setting in SETTINGS:
            run = measured[query][setting]
            mean = sum(run["received"]) / len(run["received"])
            texts = (f"{max(run['received']):,}", f"{mean:,.0f}", f"{max(run['compared']):,}")
            rows.append((f"{TITLES[query]}, {label(setting)}", *texts))
    headings = ("query, setting", "rows received by the busiest unit", "by the mean unit", "most pairs compared")
    return (Table(headings, tuple(rows)),)


def _picture(measured: Measured) -> Picture:
    series = tuple(
        Series(
            label(setting),
            tuple((TITLES[q], _most(q, setting, measured) / _most(q, "JM16", measured)) for q in QUERIES),
        )
        for setting in SETTINGS
    )
    title = "Rows that come to the busiest unit"
    return Picture("", title, "query", ("times those of the matrix of 16 units",), series, "bars")


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"The streams of equal volume in {settings['size.steps']} steps, counted by the engine in one process, one "
        "unit of each side on a slot: it does not depend on cores or clocks. Received are the rows that a unit stored, "
        "and those that its slot's tasks reported to have looked up in it."
    )


BUSIEST = Experiment(
    "busiest",
    "The work of the busiest unit",
    ("Figure 7", "Figure 8"),
    measure_busiest,
    _describe,
    tuple(claim for query in QUERIES for claim in _claims(query)),
    _table,
    lambda measured: [_picture(measured)],
    modules=(counting, queries),
)
