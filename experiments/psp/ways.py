"""3-, 5-, 7- and 9-way joins on the engine: they run, and compare the pairs that equation 1 says."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.ring_costs import Lookup, RingWork, compared_pairs
from braid.optimizer.strategies import TimeSliced
from experiments.claims import Claim, Measured, Verdict, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import engine_runs
from experiments.psp.engine_runs import Chain, count, of_units, total
from experiments.psp.settings import WAYS
from experiments.psp.size import Size

UNITS = 4
MATCHES = 1.0
TOLERANCE = 0.3
BY_CHANCE = (
    "With one match a row on average, a few rows that match several others make most intermediate results, so the "
    "pairs of few steps differ by chance, the more the longer the chain."
)


def measure(size: Size) -> Measured:
    found: Measured = {}
    for ways in WAYS:
        chain = Chain(ways, size.window_rows, MATCHES)
        steps = count(chain, TimeSliced(UNITS), UNITS, size.counted_steps)
        rows = total(steps, "numInputRows")
        lookups = tuple(Lookup(s, chain.stored, chain.selectivity, 1e-6) for s in range(1, ways))
        found[str(ways)] = {
            "rows": rows,
            "results": total(steps, "numOutputRows"),
            "copies": total(steps, "copies"),
            "pairs_a_row": of_units(steps, "pairsCompared") / rows,
            "equation": compared_pairs(RingWork(0, lookups, 1e-6, 1e-6)),
        }
    return found


def _run(measured: Measured) -> Verdict:
    said = ", ".join(f"{ways}-way {one['results']:,} results" for ways, one in measured.items())
    return Verdict(said, all(one["results"] > 0 and one["copies"] == 0 for one in measured.values()))


def _as_equation(measured: Measured) -> Verdict:
    ratios = {ways: one["pairs_a_row"] / one["equation"] for ways, one in measured.items()}
    said = ", ".join(f"{ways}-way {value:.2f}" for ways, value in ratios.items())
    return Verdict(f"{said} times equation 1", all(within(v, 1.0, TOLERANCE) for v in ratios.values()), BY_CHANCE)


CLAIMS = (
    Claim("run", "Joins of 3, 5, 7 and 9 streams run, and store no row twice", "they run", _run),
    Claim("pairs", "A new row is compared as often as equation 1 says", "equation 1, corrected", _as_equation),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Run with the engine in one process on {UNITS} units: windows with {settings['size.window_rows']} rows of "
        "each stream, of which a row matches one on average; with the paper's 25 to 250 a 9-way join would have more "
        "results than any machine can write. Each join takes the sequences that the engine chooses."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = tuple(
        (
            f"{ways}-way",
            f"{one['rows']:,}",
            f"{one['results']:,}",
            f"{one['pairs_a_row']:,.0f}",
            f"{one['equation']:,.0f}",
        )
        for ways, one in measured.items()
    )
    return (Table(("join", "new rows", "results", "pairs a new row", "by equation 1"), rows),)


def pictures(measured: Measured) -> Sequence[Picture]:
    kinds = {"pairs_a_row": "counted", "equation": "equation 1"}
    series = tuple(
        Series(text, tuple((f"{ways}-way", one[kind]) for ways, one in measured.items()))
        for kind, text in kinds.items()
    )
    return [Picture("", "Pairs compared for a new row", "join", ("pairs",), series, "bars")]


RUN_WAYS = Experiment(
    "ways",
    "Joins of 3 to 9 streams, counted with the engine",
    ("§8.2",),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    modules=(engine_runs,),
)
