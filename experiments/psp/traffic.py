"""Section 4.3: how much more a ring sends than its results are, beside what the engine counts."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.ring_costs import Lookup, RingWork, traffic_ratio
from braid.optimizer.strategies import TimeSliced
from experiments.claims import Claim, Measured, Verdict, within
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import engine_runs
from experiments.psp.engine_runs import Chain, count, of_units, total
from experiments.psp.size import Size

STREAMS = 3
MATCHES = (0.5, 1.0, 3.0)
SHOWN_MATCHES = 1.0
TOLERANCE = 0.25
FEW_MATCHES = (
    "The estimate leaves out the new rows themselves and all lookups but the last, which is right where a row finds "
    "many others. With few matches most of what is sent are the new rows."
)
IN_WINDOW_ONLY = (
    "Rows visit only units with slices in their windows, and a row of the same step is found from one side alone, so "
    "fewer visits are counted than N for every row."
)


def measure(size: Size) -> Measured:
    """Of each number of units and matches: rows that visit units, bytes that are read, and results."""
    found = []
    for units in size.units:
        for matches in MATCHES:
            chain = Chain(STREAMS, size.window_rows, matches)
            steps = count(chain, TimeSliced(units, goal="throughput"), units, size.counted_steps)
            results = total(steps, "numOutputRows")
            row_bytes = total(steps, "stateBytes") / total(steps, "stateRows")
            found.append(
                {
                    "units": units,
                    "matches": matches,
                    "visits_a_result": of_units(steps, "visits") / results,
                    "bytes_a_result": total(steps, "bytesMoved") / results,
                    "result_bytes": STREAMS * row_bytes,
                    "estimate": units / matches,
                    "equation": traffic_ratio(_work(chain), units),
                }
            )
    return {"points": found}


def _work(chain: Chain) -> RingWork:
    lookups = tuple(Lookup(s, chain.stored, chain.selectivity, 1e-6) for s in range(1, chain.ways))
    return RingWork(0, lookups, 1e-6, 1e-6)


def _as_estimated(measured: Measured) -> Verdict:
    """Whether the paper's estimate is near to the visits that were counted."""
    ratios = {_name(point): point["visits_a_result"] / point["estimate"] for point in measured["points"]}
    worst = max(ratios, key=lambda name: abs(ratios[name] - 1))
    here = f"{min(ratios.values()):.2f} to {max(ratios.values()):.2f} times the estimate, most apart with {worst}"
    return Verdict(here, all(within(value, 1.0, TOLERANCE) for value in ratios.values()), FEW_MATCHES)


def _as_equation(measured: Measured) -> Verdict:
    ratios = [point["visits_a_result"] / point["equation"] for point in measured["points"]]
    holds = all(within(value, 1.0, TOLERANCE) for value in ratios)
    return Verdict(f"{min(ratios):.2f} to {max(ratios):.2f} times equation 1", holds, IN_WINDOW_ONLY)


def _grows_with_units(measured: Measured) -> Verdict:
    """Bytes a result with the most units, over those with the fewest."""
    points = measured["points"]
    fewest, most = (choose(point["units"] for point in points) for choose in (min, max))
    ratios = []
    for matches in MATCHES:
        first, last = (
            next(p for p in points if (p["units"], p["matches"]) == (units, matches)) for units in (fewest, most)
        )
        ratios.append(last["bytes_a_result"] / first["bytes_a_result"])
    said = f"{min(ratios):.2f} to {max(ratios):.2f} times the bytes from {fewest} to {most} units"
    return Verdict(said, min(ratios) > 1)


def _falls_with_matches(measured: Measured) -> Verdict:
    falling, said = [], []
    for units in dict.fromkeys(point["units"] for point in measured["points"]):
        found = [point["bytes_a_result"] for point in measured["points"] if point["units"] == units]
        falling.append(found == sorted(found, reverse=True))
        said.append(f"{found[0]:,.0f} to {found[-1]:,.0f} bytes with {units} units")
    return Verdict(", ".join(said), all(falling))


CLAIMS = (
    Claim("estimate", "A ring sends N / (lambda W S) rows for each result", "N / (lambda W S)", _as_estimated),
    Claim("equation", "Rows that visit units are those of equation 1", "N for each row", _as_equation),
    Claim("units", "The bytes of a result grow with the number of units", "proportional to N", _grows_with_units),
    Claim("matches", "The bytes of a result fall with the matches of a row", "1 / (lambda W S)", _falls_with_matches),
)


def _name(point: Measured) -> str:
    return f"{point['units']} units, {point['matches']:g} matches a row"


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Counted with the engine in one process: 3-way joins with chosen selectivity, windows with "
        f"{settings['size.window_rows']} rows of each stream, of which a row matches 0.5, 1 or 3, where the paper has "
        "25 to 250. Visits are rows that search a unit; bytes are those that tasks read of other slots, and include "
        "the rows that are stored."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = tuple(
        (
            _name(point),
            f"{point['visits_a_result']:.2f}",
            f"{point['equation']:.2f}",
            f"{point['estimate']:.2f}",
            f"{point['bytes_a_result'] / point['result_bytes']:.1f}",
        )
        for point in measured["points"]
    )
    headings = ("", "visits a result", "by equation 1", "N / (lambda W S)", "bytes read, in bytes of a result's rows")
    return (Table(headings, rows),)


def pictures(measured: Measured) -> Sequence[Picture]:
    """By units, where a row matches one other."""
    kinds = {"visits_a_result": "counted", "equation": "equation 1", "estimate": "N / (lambda W S)"}
    shown = [point for point in measured["points"] if point["matches"] == SHOWN_MATCHES]
    series = tuple(
        Series(text, tuple((point["units"], point[kind]) for point in shown)) for kind, text in kinds.items()
    )
    title = "Rows sent to units for each result, where a row matches one other"
    return [Picture("", title, "units in the ring", ("rows a result",), series)]


TRAFFIC = Experiment(
    "traffic",
    "Rows and bytes between units, counted with the engine",
    ("§4.3",),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    modules=(engine_runs,),
)
