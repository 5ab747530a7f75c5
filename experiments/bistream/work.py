"""The work of the busiest unit, counted: what decides the rate where every unit has a machine (Figures 7 to 9)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from braid.optimizer.build import build_plan
from braid.placement.units import Unit, units_of
from experiments.bistream.counting import SLOTS, Counted, count
from experiments.bistream.models import model, settings_for
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.outcome import Claim, Curve, Outcome

SETTINGS = ("JM16", "JB8", "JB16", "JB16-CR4", "JB16-CR8")


@dataclass(frozen=True)
class Busiest:
    """The largest number of rows that came to a unit, to be stored or looked up, and of pairs that one compared."""

    received: int
    compared: int


def busiest(size: Size) -> Outcome:
    """Rows received and pairs compared by the unit that has most of them."""
    found: dict[tuple[str, str], Busiest] = {}
    for name in QUERIES:
        query = size.query(name)
        for setting in settings_for(name, SETTINGS):
            logical_plan, strategy = query.draft()[0].logical_plan(), model(setting)
            layout = strategy.layout(build_plan(logical_plan), SLOTS)
            found[name, setting] = _busiest(units_of(layout, 2), count(logical_plan, strategy, query.tables()))
    claims = [claim for name in QUERIES for claim in _claims(name, found)]
    shares = {(q, s): work.received / found[q, "JM16"].received for (q, s), work in found.items()}
    return Outcome(
        "busiest",
        "The work of the busiest unit",
        f"{size.describe()}, counted by the engine in one process: it does not depend on cores or clocks. A row that a "
        "unit both stores and looks up, as in a matrix, came to it once. Where each unit has a machine of its own, the "
        "rate is bounded by what the busiest one takes in.",
        "Figures 7, 8",
        tuple(claims),
        ("query, setting", "rows received", "over JM16", "pairs compared"),
        tuple(
            (f"{q}, {s}", f"{work.received:,}", f"{shares[q, s]:.2f}", f"{work.compared:,}")
            for (q, s), work in found.items()
        ),
        tuple(Curve(s, tuple((q, shares[q, s]) for q in QUERIES if (q, s) in shares)) for s in SETTINGS),
        ("", "rows to the busiest unit, JM16 = 1"),
        "bars",
    )


def _claims(query: str, found: dict[tuple[str, str], Busiest]) -> list[Claim]:
    received = {setting: found[query, setting].received for setting in settings_for(query, SETTINGS)}
    more = received["JB16"] / received["JM16"]
    claims = [
        Claim(
            f"{query}: random routing gives a unit more rows than a matrix does",
            "JB16 > JM16",
            f"{more:.2f} times",
            more > 1,
        )
    ]
    if "JB16-CR8" in received:
        four, eight = (received[f"JB16-CR{groups}"] / received["JB16"] for groups in (4, 8))
        claims.append(
            Claim(
                f"{query}: subgroups spare units rows",
                "JB16-CR8 < JB16-CR4 < JB16",
                f"CR4 {four:.2f} of JB16, CR8 {eight:.2f}",
                eight < four < 1,
            )
        )
    return claims


def _busiest(units: Sequence[Unit], run: Counted) -> Busiest:
    """Over the whole history every row is still stored, so what a unit was sent is what the units it meets hold."""
    stored = {unit["unit"]: int(unit["rowsStored"]) for unit in run.last["units"]}
    compared = Counter[int]()
    for step in run.steps:
        compared.update({unit["unit"]: int(unit["pairsCompared"]) for unit in step["units"]})
    received = [sum(stored.get(other.number, 0) for other in units if _sends(other, unit)) for unit in units]
    return Busiest(max(received), max(compared.values()))


def _sends(other: Unit, unit: Unit) -> bool:
    """Whether the rows stored at `other` came to `unit` too: to be stored there, or to be looked up."""
    return other == unit or (not {*other.streams} & {*unit.streams} and {*other.routes} <= {*unit.routes})
