"""How late results are under the five settings on Spark, at one rate for all of them (Figure 9)."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping

from benchmarks.tasks import Measurement
from experiments.bistream.models import settings_for
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.bistream.throughput import SETTINGS
from experiments.bistream.timing import BANDS_HAVE_NO_KEY, lateness_of, paced_task
from experiments.claims import agreed, all_of
from experiments.outcome import Claim, Curve, Outcome
from experiments.side_by_side import Rounds, Variant, in_turn, open_stage, ratio, recorded

SIMILAR_SECONDS = 0.010
STEPS_DECIDE = (
    "Lateness: a file waits for the step under way, and its results leave when its own step ends, so settings are as "
    "far apart as their steps are long; on two cores that is what all units together take. With few rounds, "
    "differences of some tens of milliseconds are also the machine's noise."
)


def latency(size: Size) -> Outcome:
    """Files on schedule, as many a second for every setting, all settings in turn."""
    found: dict[str, Rounds] = {}
    with open_stage() as stage:
        for query in QUERIES:
            variants = {s: Variant(paced_task(size, query, s)) for s in settings_for(query, SETTINGS)}
            found[query] = in_turn(stage, variants, size.paced_rounds)
    return compare(size, found)


def compare(size: Size, found: Mapping[str, Rounds]) -> Outcome:
    """What the rounds say."""
    late = {(q, s): [lateness_of(run) for run in runs] for q, rounds in found.items() for s, runs in rounds.items()}
    medians = {key: statistics.median(run["p50"] for run in runs) for key, runs in late.items()}
    highest = {key: max(run["p99"] for run in runs) for key, runs in late.items()}
    rates = ", ".join(f"{query} {late[query, 'JM16'][0]['rate']:,.0f}" for query in QUERIES)
    return Outcome(
        "latency",
        "How late results are, by setting",
        f"TPC-H scale {size.timed_scale:g} on Spark, {size.files_per_second} files of each stream a second on "
        f"schedule; rows a second: {rates}. {size.paced_rounds} rounds of all settings in turn, the first "
        f"{size.paced_warm_up} of {size.paced_files} files of each run not counted. A row is late by the "
        "time from when its file is due until its results are committed: the median of a run's rows, then of the "
        "rounds; p99 is the highest of the rounds; where rounds disagree, nothing is decided. "
        f"The paper measures at the highest rate. {BANDS_HAVE_NO_KEY}",
        "Figure 9",
        tuple(claim for query in QUERIES for claim in _claims(query, found[query])),
        ("query, setting", "late, median", "late, p99"),
        tuple((f"{q}, {s}", f"{1000 * medians[q, s]:.0f} ms", f"{1000 * highest[q, s]:.0f} ms") for q, s in late),
        tuple(Curve(s, tuple((q, 1000 * medians[q, s]) for q in QUERIES if (q, s) in medians)) for s in SETTINGS),
        ("", "late, median, ms"),
        "bars",
        recorded(found),
    )


def _claims(query: str, rounds: Rounds) -> list[Claim]:
    apart = [max(abs(_median(run) - _median(matrix)) for run in runs) for matrix, *runs in _each_round(rounds)]
    texts = " and ".join(f"{1000 * seconds:.0f}" for seconds in apart)
    similar = Claim(
        f"{query}: JB and JM are about as late",
        "within 10 ms",
        f"within {texts} ms of JM16, by round",
        agreed(seconds <= SIMILAR_SECONDS for seconds in apart),
        STEPS_DECIDE,
    )
    if query == "band":
        return [similar]
    matrix, random = (ratio(rounds["JB16-CR8"], rounds[other], _median) for other in ("JM16", "JB16"))
    return [
        similar,
        Claim(
            f"{query}: with subgroups results are less late than in a matrix, and than by random routing",
            "JB16-CR8 < JM16, JB16-CR8 < JB16",
            f"CR8 over JM16 {matrix}, over JB16 {random}",
            all_of(matrix.below(1), random.below(1)),
            STEPS_DECIDE,
        ),
    ]


def _each_round(rounds: Rounds) -> Iterator[tuple[Measurement, ...]]:
    """The runs of every round, the matrix first."""
    return zip(rounds["JM16"], *(runs for name, runs in rounds.items() if name != "JM16"), strict=True)


def _median(run: Measurement) -> float:
    return lateness_of(run)["p50"]
