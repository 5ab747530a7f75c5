"""Rows a second of the five settings on Spark, everything in memory (Figures 7 and 8)."""

from __future__ import annotations

from experiments.bistream import queries, timing
from experiments.bistream.queries import QUERIES
from experiments.bistream.size import Size
from experiments.bistream.timing import SETTINGS, rate_claims, rate_pictures, rate_table, recorded, sustained_task
from experiments.claims import Measured
from experiments.experiment import Experiment, Settings
from experiments.side_by_side import Variant, in_turn, open_stage

ALL_ON_FEW_CORES = (
    "Rates on Spark: the paper has a core or more for every unit, so the busiest unit decides. Here two cores do the "
    "work of all units, so the sum of the work decides: a matrix pays for four copies of every row, and every step for "
    "each unit's segments and lookups; rows that subgroups spare a unit weigh little where the fixed cost of a step is "
    "most of it."
)


def measure_throughput(size: Size) -> Measured:
    """Batches as fast as they are taken, all settings in turn."""
    found: Measured = {}
    with open_stage() as stage:
        for query in QUERIES:
            variants = {setting: Variant(sustained_task(size, query, setting)) for setting in SETTINGS}
            rounds = in_turn(stage, variants, size.rounds)
            found[query] = {s: [recorded(run, size.timed_warm_up) for run in runs] for s, runs in rounds.items()}
    return found


def _describe(measured: Measured, settings: Settings) -> str:
    scales = settings["size.timed_scales"]
    return (
        f"Streams of equal volume, Q5 and Q7 of TPC-H scale {scales['q5']:g}, Band of scale {scales['band']:g}, in "
        f"{settings['size.timed_batches']} batches on Spark, wall time, results made and discarded, their number "
        f"compared with DuckDB's; {settings['size.rounds']} rounds of all settings in turn, the first "
        f"{settings['size.timed_warm_up']} batches of each run not counted. Ratios are within a round: the median, and "
        "the lowest and highest in brackets; where rounds disagree, nothing is decided."
    )


THROUGHPUT = Experiment(
    "throughput",
    "Rows a second on Spark, whole history in memory",
    ("Figure 7", "Figure 8"),
    measure_throughput,
    _describe,
    rate_claims(ALL_ON_FEW_CORES),
    rate_table,
    lambda measured: rate_pictures(measured, "rows a second on two cores, wall time"),
    timed=True,
    modules=(timing, queries),
)
