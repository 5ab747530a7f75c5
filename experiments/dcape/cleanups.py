"""Figure 11's clean-up again on the engine, with more rows: what does not depend on their number weighs less."""

from __future__ import annotations

from dataclasses import replace

from experiments.claims import Claim, Measured, Ratio, Verdict
from experiments.dcape import engine, pushes, victims
from experiments.dcape.counted import COMPLETE, OPENS_NOTHING, expected_results, most_bytes, without_limit
from experiments.dcape.input import thirds
from experiments.dcape.pushes import CHOSEN, FEW, LIMIT, MINUTES
from experiments.dcape.runs import a_run
from experiments.dcape.size import Size
from experiments.experiment import Experiment, Settings, Table

LARGER = 8
"""Times the rows of the other runs of the engine."""


def measure_clean_ups(size: Size) -> Measured:
    """The mixed ratios, by which groups are pushed; another kind first each time."""
    found: Measured = {"none": [], **{chosen: [] for chosen in CHOSEN}}
    for seed in range(size.seeds):
        larger = replace(size, scale=LARGER * size.scale).engine
        run = a_run(larger, thirds(size.groups, victims.MIXED), MINUTES, seed)
        found["none"].append(without_limit(run))
        limit = int(LIMIT * most_bytes(found["none"][-1]))
        for chosen in CHOSEN if seed % 2 == 0 else CHOSEN[::-1]:
            found[chosen].append(pushes.pushed(run, limit, chosen, expected_results(run)))
    return found


def _cleans_up_sooner(measured: Measured) -> Verdict:
    """By the CPU time of the lookups of the clean-up."""
    seconds = [[sum(one["clean_up_cpu"]) for one in measured[chosen]] for chosen in ("productive", "unproductive")]
    results = [[sum(one["deferred"]) for one in measured[chosen]] for chosen in ("productive", "unproductive")]
    ratio, found = Ratio.of(*seconds), Ratio.of(*results)
    return Verdict(f"{ratio} times the CPU time of lookups, for {found} times the results", ratio.above(1), FEW)


def _describe(measured: Measured, settings: Settings) -> str:
    return (
        f"The runs with ratios 4, 2 and 1 of the section above, with {settings['cleanups.LARGER']} times the rows in "
        f"the same steps and groups: with those, rounds did not decide which clean-up is shorter. Both outcomes stay."
    )


def _table(measured: Measured) -> list[Table]:
    rows = [
        (
            f"{chosen}, round {number}",
            f"{one['results']:,}",
            f"{sum(one['deferred']):,}",
            f"{sum(one['reread']):,}",
            f"{sum(one['clean_up_cpu']):.2f}",
        )
        for chosen in CHOSEN
        for number, one in enumerate(measured[chosen], 1)
    ]
    headings = ("pushed", "results before clean-up", "of clean-up", "bytes that clean-up reads", "its CPU seconds")
    return [Table(headings, tuple(rows))]


CLEAN_UPS = Experiment(
    "clean_ups",
    "How long clean-up takes, with more rows",
    ("Figure 11",),
    measure_clean_ups,
    _describe,
    (
        Claim(
            "cleans up sooner",
            "pushing productive groups takes longer to clean up, with more rows",
            "359 s beside 27 s, 13 times",
            _cleans_up_sooner,
        ),
        COMPLETE,
        OPENS_NOTHING,
    ),
    _table,
    modules=(pushes, victims, engine),
)
