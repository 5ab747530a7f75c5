"""Section 4.4 on Spark: rounds of several steps in one job, where steps are short and joins are long."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks import interleaving
from benchmarks.interleaving import run, write_input
from benchmarks.peers.streaming import Places, open_session
from benchmarks.tasks import Task
from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.psp.size import Size

# How many times as many rows a second, at least; of three streams nothing is asked.
AT_LEAST = {5: 1.2, 7: 1.4}
PLAIN, INTERLEAVED = "plain", "interleaved"
FEW_JOBS = (
    "Interleaving saves the fixed time of all jobs of a step but one; what the rounds themselves take stays the same."
)


def measure(size: Size) -> Measured:
    """Rows a second and results, both ways in turn, another one first each time; a run before them does not count."""
    from pyspark.sql import SparkSession

    found: Measured = {}
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as place:
        there = SparkSession.getActiveSession()
        spark = there or open_session(Task("Braid", "history", {}, 1), Places(Path(), Path(place)))
        for streams in size.interleaved_ways:
            inputs = Path(place) / str(streams)
            write_input(inputs, streams, size.interleaved_batches)
            runs: dict[str, list[Measured]] = {PLAIN: [], INTERLEAVED: []}
            run(spark, inputs, streams, 1)
            for number in range(size.rounds):
                for name in (PLAIN, INTERLEAVED) if number % 2 == 0 else (INTERLEAVED, PLAIN):
                    rate, results = run(spark, inputs, streams, 1 if name == PLAIN else streams - 1)
                    runs[name].append({"rate": rate, "results": results})
            found[str(streams)] = runs
        if there is None:
            spark.stop()
    return found


def gain(measured: Measured, streams: int) -> Ratio:
    """Rows a second with interleaved rounds, in multiples of those without."""
    both = ([one["rate"] for one in measured[str(streams)][name]] for name in (INTERLEAVED, PLAIN))
    return Ratio.of(*both)


def _raises(streams: int, measured: Measured) -> Verdict:
    if str(streams) not in measured:
        return Verdict("not run in this size", None)
    ratio = gain(measured, streams)
    return Verdict(f"{ratio} times", ratio.above(AT_LEAST[streams]), FEW_JOBS)


def _same_results(measured: Measured) -> Verdict:
    found = {
        streams: {one["results"] for one in (*ways[PLAIN], *ways[INTERLEAVED])} for streams, ways in measured.items()
    }
    said = ", ".join(
        f"{streams}-way {', '.join(f'{n:,}' for n in sorted(counts))}" for streams, counts in found.items()
    )
    return Verdict(f"results: {said}", all(len(counts) == 1 and min(counts) > 0 for counts in found.values()))


CLAIMS = (
    *(
        Claim(f"{streams}-way", f"Interleaving raises the rate of a {streams}-way join", f"here {least} times", judge)
        for streams, least in AT_LEAST.items()
        for judge in (partial(_raises, streams),)
    ),
    Claim("results", "Both ways give the same results", "no missing, no redundant results", _same_results),
)


def describe(measured: Measured, settings: Settings) -> str:
    return (
        f"Measured on Spark with two slots: joins by equality of {', '.join(measured)} streams, batches of 1,000 rows "
        f"over all streams, {settings['size.interleaved_batches']} of them as fast as they are taken; the first "
        f"{settings['interleaving.WARM']} do not count. A row has half a partner in the window of each other stream. "
        f"`interleave` is the number of rounds. {settings['size.rounds']} rounds, both ways in turn; the rate counts "
        "until the last rounds of the last batch are over. The paper has no figure of it, so the bounds are ours."
    )


def tables(measured: Measured) -> Sequence[Table]:
    rows = []
    for streams in measured:
        rates = {name: sorted(one["rate"] for one in measured[streams][name]) for name in (PLAIN, INTERLEAVED)}
        middle = (f"{values[len(values) // 2]:,.0f}" for values in rates.values())
        rows.append((f"{streams}-way", *middle, str(gain(measured, int(streams)))))
    return (Table(("join", "rows/s", "rows/s, interleaved", "in multiples"), tuple(rows)),)


def pictures(measured: Measured) -> Sequence[Picture]:
    labels = {PLAIN: "every step runs its rounds", INTERLEAVED: "rounds interleaved"}
    series = tuple(
        Series(label, tuple((f"{n}-way", sorted(one["rate"] for one in ways[name])[1]) for n, ways in measured.items()))
        for name, label in labels.items()
    )
    return [
        Picture("", "Rows a second with batches of 1,000 rows, on Spark", "join", ("rows a second",), series, "bars")
    ]


INTERLEAVING = Experiment(
    "interleaving",
    "Interleaved rounds on Spark",
    ("§4.4",),
    measure,
    describe,
    CLAIMS,
    tables,
    pictures,
    timed=True,
    modules=(interleaving,),
)
