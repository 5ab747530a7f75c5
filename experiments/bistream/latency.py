"""How late results are under the five settings on Spark, at one rate for all of them (Figure 9)."""

from __future__ import annotations

import statistics
from functools import partial

from benchmarks.tasks import Measurement
from experiments.bistream import queries, timing
from experiments.bistream.models import label
from experiments.bistream.queries import QUERIES, TITLES
from experiments.bistream.size import Size
from experiments.bistream.timing import SETTINGS, paced_task
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series
from experiments.side_by_side import Variant, in_turn, open_stage

SIMILAR_SECONDS = 0.010
FIVE = ("p0", "p25", "p50", "p75", "p100")
STEPS_DECIDE = (
    "Lateness on Spark: a file waits for the step under way, and its results leave when its own step ends, so settings "
    "are as far apart as their steps are long; on two cores that is what all units together take."
)


def measure_latency(size: Size) -> Measured:
    """Files on schedule, as many a second for every setting, all settings in turn."""
    found: Measured = {}
    with open_stage() as stage:
        for query in QUERIES:
            variants = {setting: Variant(paced_task(size, query, setting)) for setting in SETTINGS}
            rounds = in_turn(stage, variants, size.rounds)
            found[query] = {setting: [lateness_of(run) for run in runs] for setting, runs in rounds.items()}
    return found


def lateness_of(run: Measurement) -> dict[str, float]:
    """How late the results of a paced run were; it must have kept up."""
    found: dict[str, float] = run.details["latency"]
    if "error" in found:
        raise AssertionError(f"A paced run did not keep up: {found['error']}")
    return {name: found[name] for name in (*FIVE, "p99", "rate")}


def _similar(query: str, measured: Measured) -> Verdict:
    apart = []
    for number, matrix in enumerate(measured[query]["JM16"]):
        apart.append(max(abs(measured[query][setting][number]["p50"] - matrix["p50"]) for setting in SETTINGS))
    texts = ", ".join(f"{1000 * seconds:.0f}" for seconds in apart)
    return Verdict(
        f"within {texts} ms of JM16, by round", agreed(one <= SIMILAR_SECONDS for one in apart), STEPS_DECIDE
    )


def _sooner(query: str, measured: Measured) -> Verdict:
    medians = {s: [run["p50"] for run in measured[query][s]] for s in SETTINGS}
    matrix, random = (Ratio.of(medians["JB16-CR8"], medians[other]) for other in ("JM16", "JB16"))
    here = f"8 subgroups over JM16 {matrix}, over JB16 {random}"
    return Verdict(here, all_of(matrix.below(1), random.below(1)), STEPS_DECIDE)


def _claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} similar",
            f"{title}: results of all settings are about as late",
            "within 10 ms",
            partial(_similar, query),
        ),
        Claim(
            f"{query} sooner",
            f"{title}: with 8 subgroups results are less late than in a matrix, and than by random routing",
            "JB16-CR8 < JM16, JB16-CR8 < JB16",
            partial(_sooner, query),
        ),
    )


def _five(runs: list[Measured]) -> tuple[float, ...]:
    """Milliseconds: the lowest, the medians of the rounds' quartiles, and the highest."""
    ends = min(run["p0"] for run in runs), max(run["p100"] for run in runs)
    middle = [statistics.median(run[name] for run in runs) for name in FIVE[1:-1]]
    return tuple(1000 * seconds for seconds in (ends[0], *middle, ends[1]))


def _table(measured: Measured) -> tuple[Table, ...]:
    rows = tuple(
        (f"{TITLES[query]}, {label(setting)}", *(f"{value:.0f} ms" for value in _five(measured[query][setting])))
        for query in QUERIES
        for setting in SETTINGS
    )
    return (Table(("query, setting", "best", "quartile", "median", "quartile", "worst"), rows),)


def _boxes(measured: Measured) -> Picture:
    series = tuple(
        Series(label(s), tuple((TITLES[query], _five(measured[query][s])) for query in QUERIES)) for s in SETTINGS
    )
    title = "How late results are on Spark: quartiles, best and worst"
    return Picture("", title, "query", ("milliseconds",), series, "boxes")


def _describe(measured: Measured, settings: Settings) -> str:
    rates = ", ".join(f"{TITLES[query]} {measured[query]['JM16'][0]['rate']:,.0f}" for query in QUERIES)
    return (
        f"The rows whose rates on Spark stand above, {settings['size.files_per_second']} files of each stream a second "
        f"on schedule; rows a second: {rates}. {settings['size.rounds']} rounds of all settings in turn, the first "
        f"{settings['size.paced_warm_up']} of {settings['size.paced_files']} files of each run not counted. A row is "
        "late by the wall time from when its file is due until its results are committed. The paper measures at the "
        "highest rate."
    )


LATENCY = Experiment(
    "latency",
    "How late results are on Spark",
    ("Figure 9",),
    measure_latency,
    _describe,
    tuple(claim for query in QUERIES for claim in _claims(query)),
    _table,
    lambda measured: [_boxes(measured)],
    timed=True,
    modules=(queries, timing),
)
