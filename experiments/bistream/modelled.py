"""The modelled time on a node for each unit, from what every slot used in one process (Figures 7, 8, 9 and 13)."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks.scale.in_process import Watched
from benchmarks.scale.model import StepWork
from braid.plan.logical import LogicalPlan
from braid.testing import InlineQuery
from experiments.bistream import counting, queries, timing
from experiments.bistream.counting import ROWS_PER_BATCH
from experiments.bistream.models import label, model, units_of
from experiments.bistream.queries import QUERIES, TITLES, Tables, in_steps
from experiments.bistream.size import Size
from experiments.bistream.timing import SETTINGS, rate_claims, rate_pictures, rate_table, rates_of
from experiments.bistream.updates import aggregated
from experiments.claims import Claim, Measured, Ratio, Verdict, agreed, all_of
from experiments.experiment import Experiment, Settings, Table
from experiments.pictures import Picture, Series

SIMILAR_SECONDS = 0.010
SUMMED = ("JB16", "JB16-CR4")
MOST_COST = 0.10
FIXED_COST = (
    "Modelled times: units of both sides with the same number share a slot, so a biclique of 16 units works on 8 nodes "
    "and one of 8 units on 4, beside 16 nodes of the matrix. The driver and every task also have a fixed cost in each "
    "step, which no setting spares."
)
HOW = (
    "Run in one process, slot after slot, with a slot for every unit; the CPU seconds and the bytes read of every slot "
    "are measured. The time of a step is then modelled: the driver's own, and for every job that of its slowest slot, "
    "with its bytes over a link of 1 Gbit/s. Nothing was measured on so many nodes; what Spark's JVM adds is not in it."
)
Work = tuple[LogicalPlan, Sequence[Tables]]


def measure_modelled(size: Size) -> Measured:
    """All settings in turn, round after round."""
    found: Measured = {}
    for name in QUERIES:
        query = size.query(name)
        work: Work = query.draft()[0].logical_plan(), in_steps(query.selected(), size.modelled_batches)
        runs = {setting: partial(_run, work, setting, name, size.timed_warm_up) for setting in SETTINGS}
        found[name] = _in_turn(runs, size.rounds)
    return found


def _in_turn(runs: Mapping[str, Callable[[], Measured]], rounds: int) -> Measured:
    """Every run once a round, another one first each time. A run before them warms up and does not count."""
    names = list(runs)
    runs[names[0]]()
    found: Measured = {name: [] for name in names}
    for number in range(rounds):
        first = number * len(names) // rounds
        for name in names[first:] + names[:first]:
            found[name].append(runs[name]())
    return found


def _run(work: Work, setting: str, query: str, warm_up: int) -> Measured:
    """The counted steps of one run: rows and modelled seconds, and what they are made of."""
    units, (plan, batches) = units_of(setting), work
    steps: list[StepWork] = []
    with tempfile.TemporaryDirectory(prefix="braid-experiment-") as directory:
        running = InlineQuery(
            plan,
            directory,
            strategy=model(setting, query),
            slots=units,
            ingest_tasks=units,
            rows_per_batch=ROWS_PER_BATCH,
        )
        watched = Watched(running)
        for number, tables in enumerate(batches):
            watched.begin()
            began = time.process_time()
            progress = running.run(number, tables)
            whole = time.process_time() - began
            if progress is None:
                raise AssertionError(f"step {number} was not run")
            rounds = tuple(watched.rounds)
            steps.append(StepWork(progress["numInputRows"], whole - watched.elsewhere, rounds))
    counted = steps[warm_up:]
    return {
        "before": sum(step.rows for step in steps[:warm_up]),
        "rows": [step.rows for step in counted],
        "seconds": [round(step.modelled_seconds(), 6) for step in counted],
        "driver": [round(step.driver, 6) for step in counted],
        "slowest": [round(sum(max(slot.cpu for slot in r) for r in step.rounds), 6) for step in counted],
        "sending": [
            max(sum(one.moved_bytes for one in by) for by in zip(*step.rounds, strict=False)) for step in counted
        ],
        "cpu": [round(step.cpu, 6) for step in counted],
    }


def _described(settings: Settings) -> str:
    return (
        f"{HOW} {settings['size.modelled_batches']} steps of streams of equal volume, {settings['size.rounds']} rounds."
    )


def _parts_table(measured: Measured) -> tuple[Table, ...]:
    rows = []
    for query in QUERIES:
        for setting in SETTINGS:
            runs = measured[query][setting]
            parts = [statistics.median(value for run in runs for value in run[what]) for what in ("driver", "slowest")]
            sent = statistics.median(value for run in runs for value in run["sending"])
            texts = (*(f"{1000 * part:.1f} ms" for part in parts), f"{sent / 1e6:.2f} MB")
            rows.append((f"{TITLES[query]}, {label(setting)}", *texts))
    headings = ("query, setting", "driver", "slowest slots", "most bytes read by a slot")
    return (*rate_table(measured), Table(headings, tuple(rows), "What a step is made of, medians:"))


def step_quartiles(runs: Sequence[Measured]) -> tuple[float, ...]:
    """Milliseconds of all counted steps: lowest, quartile, median, quartile, highest."""
    values = sorted(1000 * seconds for run in runs for seconds in run["seconds"])
    first, median, third = statistics.quantiles(values, n=4, method="inclusive")
    return values[0], first, median, third, values[-1]


def _similar(query: str, measured: Measured) -> Verdict:
    apart = []
    for number in range(len(measured[query]["JM16"])):
        medians = {s: statistics.median(measured[query][s][number]["seconds"]) for s in SETTINGS}
        apart.append(max(abs(seconds - medians["JM16"]) for seconds in medians.values()))
    texts = ", ".join(f"{1000 * seconds:.0f}" for seconds in apart)
    return Verdict(f"within {texts} ms of JM16, by round", agreed(one <= SIMILAR_SECONDS for one in apart), FIXED_COST)


def _sooner(query: str, measured: Measured) -> Verdict:
    medians = {s: [statistics.median(run["seconds"]) for run in measured[query][s]] for s in SETTINGS}
    matrix, random = (Ratio.of(medians["JB16-CR8"], medians[other]) for other in ("JM16", "JB16"))
    here = f"8 subgroups over JM16 {matrix}, over JB16 {random}"
    return Verdict(here, all_of(matrix.below(1), random.below(1)), FIXED_COST)


def _steps_claims(query: str) -> tuple[Claim, ...]:
    title = TITLES[query]
    return (
        Claim(
            f"{query} similar",
            f"{title}: steps of all settings last about as long",
            "within 10 ms",
            partial(_similar, query),
        ),
        Claim(
            f"{query} sooner",
            f"{title}: with 8 subgroups a step is shorter than in a matrix, and than by random routing",
            "JB16-CR8 < JM16, JB16-CR8 < JB16",
            partial(_sooner, query),
        ),
    )


def _boxes(measured: Measured) -> Picture:
    series = tuple(
        Series(label(s), tuple((TITLES[query], step_quartiles(measured[query][s])) for query in QUERIES))
        for s in SETTINGS
    )
    title = "Modelled time of a step on a node for each unit: quartiles, lowest and highest"
    return Picture("steps", title, "query", ("milliseconds",), series, "boxes", "log")


MODELLED = Experiment(
    "modelled",
    "Rates and steps, modelled on a node for each unit",
    ("Figure 7", "Figure 8", "Figure 9"),
    measure_modelled,
    lambda measured, settings: f"{_described(settings)} A result is out when its step ends.",
    (*rate_claims(FIXED_COST), *(claim for query in QUERIES for claim in _steps_claims(query))),
    _parts_table,
    lambda measured: [*rate_pictures(measured, "rows a second, modelled on a node for each unit"), _boxes(measured)],
    timed=True,
    modules=(counting, queries, timing),
)


def measure_modelled_sums(size: Size) -> Measured:
    """Each query and setting without an aggregation, and with it."""
    found: Measured = {}
    for name in QUERIES:
        query = size.summed_query(name)
        batches = in_steps(query.selected(), size.modelled_batches)
        plans = {
            "none": query.draft()[0].logical_plan(),
            "batched": aggregated(name, *query.draft(), "batched").logical_plan(),
        }
        for setting in SUMMED:
            runs = {
                way: partial(_run, (plan, batches), setting, name, size.timed_warm_up) for way, plan in plans.items()
            }
            found[f"{name} {setting}"] = _in_turn(runs, size.rounds)
    return found


def costs_little(key: str, why: str, measured: Measured) -> Verdict:
    ratio = Ratio.of(rates_of(measured[key]["batched"]), rates_of(measured[key]["none"]))
    return Verdict(f"{ratio} of the rate without", ratio.above(1 - MOST_COST), why)


def sum_claims(why: str) -> tuple[Claim, ...]:
    """What Figure 13 says."""
    return tuple(
        Claim(
            f"{query} {setting}",
            f"{TITLES[query]}, {label(setting)}: aggregation costs at most a tenth of the rate",
            "negligible",
            partial(costs_little, f"{query} {setting}", why),
        )
        for query in QUERIES
        for setting in SUMMED
    )


def sum_picture(measured: Measured, title: str) -> Picture:
    ways = {"none": "results discarded", "batched": "added up, batched", "immediate": "added up, immediate"}
    names = {f"{q} {s}": f"{TITLES[q]},\n{label(s).replace('biclique, ', '')}" for q in QUERIES for s in SUMMED}
    series = tuple(
        Series(
            text,
            tuple((names[k], statistics.median(rates_of(runs[way]))) for k, runs in measured.items() if way in runs),
        )
        for way, text in ways.items()
        if any(way in runs for runs in measured.values())
    )
    return Picture("", title, "query, biclique", ("rows a second",), series, "bars")


MODELLED_SUMS = Experiment(
    "modelled_sums",
    "With and without aggregation, modelled on a node for each unit",
    ("Figure 13",),
    measure_modelled_sums,
    lambda measured, settings: f"{_described(settings)} Band has all rows of both streams, so that it has results.",
    sum_claims(
        "Modelled times: adding up is a job more for every step, whose fixed cost weighs most where steps are short."
    ),
    pictures=lambda measured: [sum_picture(measured, "Rows a second with and without aggregation, modelled")],
    timed=True,
    modules=(counting, queries, timing),
)
