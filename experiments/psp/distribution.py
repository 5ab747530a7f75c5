"""Figures 7, 8b, 8d and 8f: what ways to distribute a join store, send and spend on routing, by the engine."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.strategies import AlignedRouting, CoordinatedRouting, Strategy, TimeSliced
from experiments.claims import Claim, Measured, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import engine_runs
from experiments.psp.engine_runs import Chain, count, total
from experiments.psp.size import Size

IMAGE = "small"
STREAMS = 3
MATCHES = 1.0
SEGMENTS = (10, 30, 50)
COPIES = (2, 3, 4)
RING = "ring"
FLAT = 0.02
# Blocks expire as a whole, and their number differs with the nodes.
SIMILAR = 0.1
GROWS = 1.1
LITTLE = 0.05
ENOUGH_NODES = (
    "With segments at least as long as the window a row can meet rows of at most three segments, so it is stored at "
    "most three times however many nodes there are. It grows only from one node to about three."
)


def strategies(units: int) -> dict[str, Strategy]:
    found: dict[str, Strategy] = {RING: TimeSliced(units, goal="throughput")}
    found |= {f"segment {seconds}": AlignedRouting(f"{seconds} seconds", units) for seconds in SEGMENTS}
    return found | {f"copies {copies}": CoordinatedRouting(copies, units) for copies in COPIES if units >= 2 * copies}


def measure(size: Size) -> Measured:
    chain = Chain(STREAMS, size.window_rows, MATCHES, IMAGE)
    found: Measured = {"stored": chain.stored, "matches": chain.matches, "variants": {}}
    for units in size.units:
        for name, strategy in strategies(units).items():
            steps = count(chain, strategy, units, size.counted_steps)
            found["variants"].setdefault(name, {})[str(units)] = _counted(steps)
    return found


def _counted(steps: list[engine_runs.Progress]) -> Measured:
    rows = total(steps, "numInputRows")
    cpu = sum(step["cpuSeconds"]["ingest"] + step["cpuSeconds"]["probe"] for step in steps)
    return {
        "state_rows": total(steps, "stateRows") / len(steps),
        "copies": total(steps, "copies") / len(steps),
        "routing_seconds_a_row": sum(step["routing"]["cpuSeconds"] for step in steps) / rows,
        "routing_share": sum(step["routing"]["cpuSeconds"] for step in steps) / cpu,
        "metadata_bytes_a_step": sum(step["routing"]["metadataBytes"] for step in steps) / len(steps),
        "moved_bytes_a_row": total(steps, "bytesMoved") / rows,
        "results": total(steps, "numOutputRows"),
    }


def by_units(measured: Measured, variant: str, what: str) -> list[float]:
    return [one[what] for one in measured["variants"][variant].values()]


def aligned(measured: Measured) -> list[str]:
    return [name for name in measured["variants"] if name.startswith("segment")]


def coordinated(measured: Measured) -> list[str]:
    return [name for name in measured["variants"] if name.startswith("copies")]


def label(variant: str) -> str:
    if variant == RING:
        return "ring"
    kind, number = variant.split()
    return f"aligned, segments of {number} s" if kind == "segment" else f"coordinated, {number} copies"


def _flat(measured: Measured) -> Verdict:
    rows = by_units(measured, RING, "state_rows")
    here = f"{min(rows):,.0f} to {max(rows):,.0f} rows"
    return Verdict(here, max(rows) <= (1 + FLAT) * min(rows))


def _once(measured: Measured) -> Verdict:
    copies = max(by_units(measured, RING, "copies"))
    return Verdict(f"{copies:,.0f} rows are stored again", copies == 0)


def _grows(measured: Measured) -> Verdict:
    said, verdicts = [], []
    for name in aligned(measured):
        rows = by_units(measured, name, "state_rows")
        verdicts.append(rows[-1] > GROWS * rows[0])
        said.append(f"{rows[-1] / rows[0]:.2f} times with {label(name).removeprefix('aligned, ')}")
    return Verdict(f"from the fewest nodes to the most {', '.join(said)}", all(verdicts), ENOUGH_NODES)


def _more_state(measured: Measured) -> Verdict:
    ring = by_units(measured, RING, "state_rows")[-1]
    times = {name: by_units(measured, name, "state_rows")[-1] / ring for name in aligned(measured)}
    said = ", ".join(f"{value:.2f} times with {label(name)}" for name, value in times.items())
    return Verdict(said, min(times.values()) > 1)


def _more_with_copies(measured: Measured) -> Verdict:
    """On the most nodes."""
    rows = {name: by_units(measured, name, "state_rows")[-1] for name in coordinated(measured)}
    said = ", ".join(f"{value:,.0f} rows with {name.split()[1]} copies" for name, value in rows.items())
    found = list(rows.values())
    return Verdict(said, found == sorted(set(found)) and len(found) > 1)


def _flat_with_copies(measured: Measured) -> Verdict:
    found = {name: by_units(measured, name, "state_rows") for name in coordinated(measured)}
    apart = {name: max(rows) / min(rows) for name, rows in found.items()}
    said = ", ".join(f"{value:.2f} times with {name.split()[1]} copies" for name, value in apart.items())
    return Verdict(f"the most over the fewest rows {said}", max(apart.values()) <= 1 + SIMILAR)


def _sends_more(measured: Measured) -> Verdict:
    """Every kind of routing by the most that one of its settings sends, on the most nodes."""
    kinds = {"ring": [RING], "coordinated": coordinated(measured), "aligned": aligned(measured)}
    sent = {kind: max(by_units(measured, n, "moved_bytes_a_row")[-1] for n in names) for kind, names in kinds.items()}
    said = ", ".join(f"{kind} {value / 1000:,.0f} kB" for kind, value in sent.items())
    return Verdict(f"{said} a row", sent["ring"] > sent["coordinated"] > sent["aligned"])


def _routing_is_low(measured: Measured) -> Verdict:
    shares = {name: max(by_units(measured, name, "routing_share")) for name in (RING, *aligned(measured))}
    worst = max(shares, key=lambda name: shares[name])
    return Verdict(f"at most {shares[worst]:.1%} of the CPU time of tasks ({label(worst)})", shares[worst] < LITTLE)


def _routing_is_high(measured: Measured) -> Verdict:
    """On the most nodes, over the most that ring and aligned routing take."""
    low = max(by_units(measured, name, "routing_seconds_a_row")[-1] for name in (RING, *aligned(measured)))
    found = [by_units(measured, name, "routing_seconds_a_row")[-1] / low for name in coordinated(measured)]
    return Verdict(f"{min(found):.1f} to {max(found):.1f} times the CPU time a row of the others", min(found) > 1)


def _metadata(measured: Measured) -> Verdict:
    none = max(max(by_units(measured, name, "metadata_bytes_a_step")) for name in (RING, *aligned(measured)))
    some = min(min(by_units(measured, name, "metadata_bytes_a_step")) for name in coordinated(measured))
    return Verdict(f"coordinated at least {some:,.0f} bytes a step, the others at most {none:,.0f}", some > 0 == none)


def _same_results(measured: Measured) -> Verdict:
    found = {one["results"] for variant in measured["variants"].values() for one in variant.values()}
    return Verdict(f"{', '.join(f'{results:,}' for results in sorted(found))} results", len(found) == 1)


CLAIMS = (
    Claim("flat", "The state of the ring does not depend on the number of nodes", "stable", _flat),
    Claim("once", "The ring stores no row twice", "no duplicated states", _once),
    Claim("grows", "The state of aligned routing grows with the number of nodes", "it grows steadily", _grows),
    Claim("state", "Aligned routing stores more than the ring", "duplicated segments", _more_state),
    Claim("copies", "The state of coordinated routing grows with the copies", "it grows", _more_with_copies),
    Claim("copies flat", "The state of coordinated routing does not grow with the nodes", "stable", _flat_with_copies),
    Claim(
        "network",
        "The ring sends the most, coordinated routing less, aligned routing the least",
        "high, middle, low",
        _sends_more,
    ),
    Claim("routing", "Routing costs little with the ring and with aligned routing", "low, low", _routing_is_low),
    Claim("routing high", "Routing costs more with coordinated routing", "high", _routing_is_high),
    Claim("metadata", "Only coordinated routing needs metadata of segments", "no, yes, no", _metadata),
    Claim("results", "All ways give the same results", "complete, no duplicates", _same_results),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Measured with the engine in one process, a slot for each node: a 3-way join of 5,000-pixel images by the "
        f"similarity of their pixels, windows of 10 s with {measured['stored']} rows of each stream, of which a row is "
        f"like {measured['matches']:g}. That is less than the paper's 500 rows and 25 to 250 matches, so that runs "
        f"end. {settings['size.counted_steps']} steps of 2 s are counted once the windows have filled. Bytes are those "
        "that tasks read of other slots; metadata are the covers that are recorded for a step."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for name, variants in measured["variants"].items():
        for units, one in variants.items():
            cells = (
                f"{one['state_rows']:,.0f}",
                f"{one['copies']:,.0f}",
                f"{1e6 * one['routing_seconds_a_row']:.1f} µs",
                f"{one['metadata_bytes_a_step'] / 1000:,.1f} kB",
                f"{one['moved_bytes_a_row'] / 1000:,.0f} kB",
            )
            rows.append((f"{label(name)}, {units} nodes", *cells))
    headings = ("", "rows stored", "of them copies", "routing, CPU a row", "metadata of a step", "bytes sent a row")
    return (Table(headings, tuple(rows)),)


def pictures(measured: Measured) -> Sequence[Picture]:
    series = tuple(
        Series(
            label(name),
            tuple((f"{units} nodes", one["state_rows"]) for units, one in measured["variants"][name].items()),
        )
        for name in measured["variants"]
    )
    return [Picture("", "Rows stored by all nodes together", "nodes", ("rows",), series, "bars")]


DISTRIBUTION = Experiment(
    "distribution",
    "State, routing and bytes, counted with the engine",
    ("Figure 7", "Figure 8b", "Figure 8d", "Figure 8f"),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    modules=(engine_runs,),
)
