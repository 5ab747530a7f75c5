"""Experiment 2 of the paper on Spark: the ring, with rounds interleaved and not, beside both ways to store copies."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from braid.optimizer.strategies import AlignedRouting, CoordinatedRouting, Strategy, TimeSliced
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp import engine_runs, spark_runs
from experiments.psp.engine_runs import Chain
from experiments.psp.size import Size
from experiments.psp.spark_runs import open_runner

IMAGE = "small"
UNITS = 8
# Rows of the next stream's window that a row matches: with the paper's 25 to 250 results could not be written.
MATCHES = {3: 3.0, 5: 1.0, 7: 0.8, 9: 0.8}
RING, INTERLEAVED = "ring", "interleaved"
SHORT, LONG = "segment 10", "segment 50"
FEW, MANY = "copies 2", "copies 4"
# Of the pairs of a step, at one slot of two.
EVEN, ALONE = 0.65, 0.9
SHARED_CORES = (
    "Here two slots have the work of all units, and a step takes longer by a fixed time for each of its jobs. The ring "
    "and coordinated routing have a job for each round, aligned routing one for all of them: where comparing is short, "
    "that decides."
)


def strategies(ways: int) -> dict[str, Strategy]:
    """All of them for three streams; of more streams those that differ most."""
    found: dict[str, Strategy] = {
        RING: TimeSliced(UNITS, goal="throughput"),
        INTERLEAVED: TimeSliced(UNITS, goal="throughput", interleave=ways - 1),
        SHORT: AlignedRouting("10 seconds", UNITS),
        FEW: CoordinatedRouting(2, UNITS),
    }
    if ways == min(MATCHES):
        found |= {LONG: AlignedRouting("50 seconds", UNITS), MANY: CoordinatedRouting(4, UNITS)}
    return found


def measure(size: Size) -> Measured:
    joins: Measured = {}
    with open_runner() as runner:
        for ways in size.spark_ways:
            chain = Chain(ways, size.spark_window_rows, MATCHES[ways], IMAGE)
            rounds = runner.in_turn(chain, strategies(ways), size.spark_batches, size.rounds)
            joins[str(ways)] = {"stored": chain.stored, "matches": chain.matches, "variants": rounds}
    return {"units": UNITS, "joins": joins}


def of_each_round(measured: Measured, ways: int, variant: str, what: str) -> list[float]:
    return [run[what] for run in measured["joins"][str(ways)]["variants"][variant]]


def rates(measured: Measured, ways: int, variant: str) -> list[float]:
    runs = measured["joins"][str(ways)]["variants"][variant]
    return [run["rows"] / run["seconds"] for run in runs]


def _over(measured: Measured, ways: int, one: str, other: str) -> Ratio:
    """How long a step takes with one variant, in multiples of the other."""
    return Ratio.of(of_each_round(measured, ways, one, "step"), of_each_round(measured, ways, other, "step"))


def _joins(measured: Measured) -> list[int]:
    return [int(ways) for ways in measured["joins"]]


def _same_results(measured: Measured) -> Verdict:
    said, same = [], []
    for ways in _joins(measured):
        variants = measured["joins"][str(ways)]["variants"]
        found = {run["results"] for runs in variants.values() for run in runs}
        same.append(len(found) == 1 and min(found) > 0)
        said.append(f"{ways}-way {', '.join(f'{results:,}' for results in sorted(found))}")
    return Verdict(f"results: {'; '.join(said)}", all(same))


def _stored_once(measured: Measured) -> Verdict:
    """Copies of the ring, and the fewest of the others, in multiples of the rows that are stored once."""
    ring, others = 0.0, []
    for ways in _joins(measured):
        for name in measured["joins"][str(ways)]["variants"]:
            copies = of_each_round(measured, ways, name, "copies")
            if name in (RING, INTERLEAVED):
                ring = max(ring, *copies)
            else:
                others.append(min(copies))
    here = f"ring at most {ring:,.0f} copies, the others at least {min(others):,.0f}"
    return Verdict(here, ring == 0 and min(others) > 0)


def _one_node_works(measured: Measured) -> Verdict:
    """Of a step's pairs, those of the slot with the most."""
    ways = min(_joins(measured))
    ring, aligned = (of_each_round(measured, ways, name, "busiest_of_a_step") for name in (RING, LONG))
    here = f"a slot has {max(ring):.0%} of a step's pairs with the ring, {min(aligned):.0%} with aligned routing"
    holds = all_of(agreed(value <= EVEN for value in ring), agreed(value >= ALONE for value in aligned))
    return Verdict(here, holds)


def _sooner(other: str, measured: Measured) -> Verdict:
    """Whether a step of the ring takes less time, for every join."""
    found = {ways: _over(measured, ways, RING, other) for ways in _joins(measured)}
    said = ", ".join(f"{ways}-way {ratio}" for ways, ratio in found.items())
    below = all_of(*(ratio.below(1) for ratio in found.values()))
    return Verdict(f"a step of the ring in multiples of the other: {said}", below, SHARED_CORES)


def _more_copies(measured: Measured) -> Verdict:
    ratio = _over(measured, min(_joins(measured)), MANY, FEW)
    return Verdict(f"a step with 4 copies takes {ratio} times that with 2", ratio.above(1), SHARED_CORES)


def _sends_most(measured: Measured) -> Verdict:
    verdicts, said = [], []
    for ways in _joins(measured):
        sent = [of_each_round(measured, ways, name, "moved_bytes_a_row") for name in (RING, FEW, SHORT)]
        verdicts.append(agreed(ring > few > short for ring, few, short in zip(*sent, strict=True)))
        said.append(f"{ways}-way {', '.join(f'{min(one) / 1000:,.0f}' for one in sent)}")
    why = "There are two slots: a row is sent to one other at most, however many of its units look it up."
    return Verdict(f"kB a row, ring, coordinated, aligned: {'; '.join(said)}", all_of(*verdicts), why)


def _interleaving(measured: Measured) -> Verdict:
    joins = [ways for ways in _joins(measured) if ways > min(MATCHES)]
    ratios = {ways: Ratio.of(rates(measured, ways, INTERLEAVED), rates(measured, ways, RING)) for ways in joins}
    said = ", ".join(f"{ways}-way {ratio}" for ways, ratio in ratios.items())
    why = (
        "Interleaving saves the fixed time of jobs. Where comparing images is most of a step, that is little, and the "
        "rounds of the last steps run by themselves."
    )
    return Verdict(f"rows a second, in multiples: {said}", all_of(*(ratio.above(1) for ratio in ratios.values())), why)


CLAIMS = (
    Claim("results", "All ways give the same results", "complete, no duplicates", _same_results),
    Claim("copies", "The ring stores no row twice, both others do", "zero state duplication", _stored_once),
    Claim(
        "one node", "Aligned routing joins a row at one node, the ring at all", "a single node only", _one_node_works
    ),
    Claim("aligned", "The ring answers sooner than aligned routing", "PSP is superior", partial(_sooner, SHORT)),
    Claim("coordinated", "The ring answers sooner than coordinated routing", "PSP is superior", partial(_sooner, FEW)),
    Claim("more copies", "More copies make coordinated routing slower", "it grows", _more_copies),
    Claim("network", "The ring sends the most, aligned routing the least", "high, middle, low", _sends_most),
    Claim("interleaving", "Interleaved rounds raise the rate of joins of five and more", "PSP-I", _interleaving),
)


def describe(measured: Measured, settings: Settings) -> str:
    joins = "; ".join(f"{ways}-way {one['matches']:g}" for ways, one in measured["joins"].items())
    stored = next(iter(measured["joins"].values()))["stored"]
    return (
        f"Measured on Spark with two slots, which have the work of {measured['units']} units: images of 5,000 pixels, "
        f"windows of 10 s with {stored} rows of each stream, a batch every 2 s of event time. The rows of the next "
        f"stream that a row matches on average, where the paper has 25 to 250: {joins}. Batches run as fast as they "
        f"are taken. Of each run the last {settings['size.spark_batches']} are timed, after the windows have filled; "
        f"pairs and bytes are those of all. {settings['size.rounds']} rounds of all ways in turn. The results of a "
        "batch are there when its step ends, so the time of a step is their response time; of interleaved rounds it is "
        "not, since results come some steps later."
    )


LABELS = {
    RING: "ring",
    INTERLEAVED: "ring, rounds interleaved",
    SHORT: "aligned, segments of 10 s",
    LONG: "aligned, segments of 50 s",
    FEW: "coordinated, 2 copies",
    MANY: "coordinated, 4 copies",
}


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for ways in _joins(measured):
        for name in measured["joins"][str(ways)]["variants"]:
            runs = partial(of_each_round, measured, ways, name)
            own = rates(measured, ways, name)
            cells = (
                f"{1000 * sorted(runs('step'))[len(own) // 2]:,.0f} ms",
                f"{sorted(own)[len(own) // 2]:,.0f}",
                f"{runs('copies')[0]:,.0f}",
                f"{runs('pairs_a_row')[0]:,.0f}",
                f"{runs('busiest_of_a_step')[0]:.0%}",
                f"{runs('moved_bytes_a_row')[0] / 1000:,.0f} kB",
            )
            rows.append((f"{ways}-way, {LABELS[name]}", *cells))
    headings = ("", "a step", "rows/s", "copies", "pairs a row", "of a step's pairs at one slot", "bytes sent a row")
    return (Table(headings, tuple(rows)),)


def pictures(measured: Measured) -> Sequence[Picture]:
    names = [name for name in LABELS if any(name in one["variants"] for one in measured["joins"].values())]
    series = tuple(
        Series(
            LABELS[name],
            tuple(
                (f"{ways}-way", sorted(rates(measured, ways, name))[len(rates(measured, ways, name)) // 2])
                for ways in _joins(measured)
                if name in measured["joins"][str(ways)]["variants"]
            ),
        )
        for name in names
    )
    return [Picture("", "Rows a second on Spark, two cores", "join", ("rows a second",), series, "bars")]


ON_SPARK = Experiment(
    "on_spark",
    "The ring beside aligned and coordinated routing on Spark",
    ("Figure 8c", "Figure 8d", "Figure 8e", "Figure 8f"),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    timed=True,
    modules=(spark_runs, engine_runs),
)
