"""Figures 7, 8b and 8d: what ways to distribute a join store, send and spend on routing, counted with the engine."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.strategies import AlignedRouting, Strategy, TimeSliced
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
RING = "ring"
FLAT = 0.02
GROWS = 1.1
LITTLE = 0.05
ENOUGH_NODES = (
    "With segments at least as long as the window a row can meet rows of at most three segments, so it is stored at "
    "most three times however many nodes there are. It grows only from one node to about three."
)


def strategies(units: int) -> dict[str, Strategy]:
    found: dict[str, Strategy] = {RING: TimeSliced(units, goal="throughput")}
    return found | {f"segment {seconds}": AlignedRouting(f"{seconds} seconds", units) for seconds in SEGMENTS}


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
        "record_bytes_a_step": total(steps, "recordBytes") / len(steps),
        "moved_bytes_a_row": total(steps, "bytesMoved") / rows,
        "results": total(steps, "numOutputRows"),
    }


def by_units(measured: Measured, variant: str, what: str) -> list[float]:
    return [one[what] for one in measured["variants"][variant].values()]


def aligned(measured: Measured) -> list[str]:
    return [name for name in measured["variants"] if name != RING]


def label(variant: str) -> str:
    return "ring" if variant == RING else f"aligned, segments of {variant.split()[1]} s"


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


def _sends_more(measured: Measured) -> Verdict:
    ring = by_units(measured, RING, "moved_bytes_a_row")[-1]
    others = {name: by_units(measured, name, "moved_bytes_a_row")[-1] for name in aligned(measured)}
    said = ", ".join(f"{label(name)} {value / 1000:,.0f} kB" for name, value in others.items())
    return Verdict(f"ring {ring / 1000:,.0f} kB a row; {said}", ring > max(others.values()))


def _routing_is_low(measured: Measured) -> Verdict:
    shares = {name: max(by_units(measured, name, "routing_share")) for name in measured["variants"]}
    worst = max(shares, key=lambda name: shares[name])
    return Verdict(f"at most {shares[worst]:.1%} of the CPU time of tasks ({label(worst)})", shares[worst] < LITTLE)


def _same_results(measured: Measured) -> Verdict:
    found = {one["results"] for variant in measured["variants"].values() for one in variant.values()}
    return Verdict(f"{', '.join(f'{results:,}' for results in sorted(found))} results", len(found) == 1)


CLAIMS = (
    Claim("flat", "The state of the ring does not depend on the number of nodes", "stable", _flat),
    Claim("once", "The ring stores no row twice", "no duplicated states", _once),
    Claim("grows", "The state of aligned routing grows with the number of nodes", "it grows steadily", _grows),
    Claim("state", "Aligned routing stores more than the ring", "duplicated segments", _more_state),
    Claim("network", "The ring sends more than aligned routing", "high, low", _sends_more),
    Claim("routing", "Routing costs little with the ring and with aligned routing", "low, low", _routing_is_low),
    Claim("results", "All ways give the same results", "complete, no duplicates", _same_results),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        "Measured with the engine in one process, a slot for each node: a 3-way join of 5,000-pixel images by the "
        f"similarity of their pixels, windows of 10 s with {measured['stored']} rows of each stream, of which a row is "
        f"like {measured['matches']:g}. That is less than the paper's 500 rows and 25 to 250 matches, so that runs "
        f"end. {settings['size.counted_steps']} steps of 2 s are counted once the windows have filled. Bytes are those "
        "that tasks read of other slots; records are what the driver writes of a step: commands and the committed "
        "state."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for name, variants in measured["variants"].items():
        for units, one in variants.items():
            cells = (
                f"{one['state_rows']:,.0f}",
                f"{one['copies']:,.0f}",
                f"{1e6 * one['routing_seconds_a_row']:.1f} µs",
                f"{one['record_bytes_a_step'] / 1000:,.1f} kB",
                f"{one['moved_bytes_a_row'] / 1000:,.0f} kB",
            )
            rows.append((f"{label(name)}, {units} nodes", *cells))
    headings = ("", "rows stored", "of them copies", "routing, CPU a row", "records of a step", "bytes sent a row")
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
    ("Figure 7", "Figure 8b", "Figure 8d"),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    modules=(engine_runs,),
)
