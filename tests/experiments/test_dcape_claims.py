"""Every claim on adapting state holds on a record that supports it, and refuses one that contradicts it."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from experiments import dcape
from experiments.claims import Claim, Measured
from experiments.dcape.size import SIZES
from experiments.experiment import Experiment, plain
from tests.experiments.dcape_engine_records import record
from tests.experiments.judging import Contradict, check_both_ways, claim_in

BY_NAME = {experiment.name: experiment for experiment in dcape.EXPERIMENTS}


def with_figures(*path: str, **figures: Any) -> Contradict:
    """Other figures in all rounds of one variant."""

    def change(measured: Measured) -> None:
        place: Any = measured
        for name in path:
            place = place[name]
        for one in place:
            one.update(figures)

    return change


def with_values(*path: str, **figures: Any) -> Contradict:
    """Other figures in one run."""

    def change(measured: Measured) -> None:
        place: Any = measured
        for name in path:
            place = place[name]
        place.update(figures)

    return change


def kept(*path: str) -> dict[str, Contradict]:
    """What contradicts the claims of every run: a result that is missing, and pushed rows that were read."""
    return {
        "complete": with_figures(*path, complete=False),
        "opens nothing": with_figures(*path, opened_bytes=1),
    }


RESIDENT: dict[str, Contradict] = {
    "never exceeded": with_values("lazy-disk", share=1.11),
    "often": with_values("auto", per_second=19.0),
    "includes clean-up": with_values("lazy-disk", cleanUps=0),
    "complete": with_values("ordered", results=6),
}
READ_THROUGH: dict[str, Contradict] = {
    "keeps rate": with_figures("limited", step_seconds=4.0),
    "keeps rate, CPU": with_figures("limited", cpu=4.0),
    "same results": with_figures("limited", results=6),
}
CONTRADICTIONS: dict[str, dict[str, Contradict]] = {
    "parallel": {
        "changes little": with_figures("small", "5", cpu=13.0),
        "lasts longer": with_figures("large", "2", used_by_time=[30, 50, 75, 100]),
        "complete": with_figures("large", "3", complete=False),
    },
    "push_shares": {
        "falls": with_figures("limits", "0.5", "0.5", results=900),
        "stays below": with_figures("limits", "0.5", "0.1", fullest=1.01),
        "is rarer": with_figures("limits", "0.5", "1.0", spills=18),
        **kept("limits", "0.5", "0.1"),
    },
    "push_victims": {
        "finds more, mixed": with_figures("mixed", "0.5", "unproductive", results=1_190),
        "leaves less": with_figures("mixed", "0.5", "productive", deferred=[90]),
        "cleans up sooner": with_figures("mixed", "0.5", "productive", clean_up_cpu=[0.09]),
        "finds more, same": with_figures("same", "0.5", "unproductive", results=999),
        **kept("same", "0.5", "productive"),
    },
    "clean_ups": {
        "cleans up sooner": with_figures("productive", clean_up_cpu=[0.09]),
        **kept("productive"),
    },
    "resident": RESIDENT,
    "resident_on_spark": RESIDENT,
    "cgroup": {"not killed": with_values("runs", "totals", kills=1)},
    "cgroup_on_spark": {"not killed": with_values("runs", "totals", kills=1)},
    "read_through": READ_THROUGH,
    "read_through_on_spark": READ_THROUGH,
    "much_state": {
        "runs": with_values(stateRows=150),
        "steady": with_values(ratio=3.1),
        "steady CPU": with_values(ratioCpu=3.1),
        "stays below": with_values(share=1.2),
    },
    "push_windowed": {
        "finds more": with_figures("mixed", "0.6", "unproductive", results=999),
        **kept("mixed", "0.6", "productive"),
    },
    "moves": {
        "more often": with_figures("balance", "0.9", relocations=2),
        "by interval": with_figures("every", "15000", relocations=27),
        "even": with_figures("every", "15000", spread_90=1.31),
        "cheap": with_figures("every", "15000", cpu=11.5),
        "complete": with_figures("balance", "0.7", complete=False),
    },
    "skewed_moves": {"keeps finding": with_figures("moves", spills=1), **kept("none")},
    "pushes_and_moves": {
        "finds more": with_figures("limits", "0.2", "lazy", results=799),
        "cleans up sooner": with_figures("limits", "0.2", "lazy", clean_up_cpu=[0.1, 0.1, 0.5]),
        **kept("limits", "0.3", "lazy"),
    },
    "active_pushes": {
        "overtakes": with_figures("limits", "0.15", "active", results=799),
        "drops first": with_figures("limits", "0.15", "active", results_by_time=[0, 10, 1_000]),
        **kept("limits", "0.15", "lazy"),
    },
    "spill_shares": {
        "falls": with_figures("0.3", "0.5", results=900),
        "stays below": with_figures("0.5", "0.1", fullest=1.01),
        "is rarer": with_figures("0.5", "1.0", spills=18),
    },
    "spill_victims": {
        "finds more, mixed": with_figures("mixed", "0.3", "unproductive", results=1_190),
        "leaves less": with_figures("mixed", "0.3", "productive", reread=[90]),
        "finds more, same": with_figures("same", "0.5", "unproductive", results=999),
    },
    "alternating": {
        "more often": with_figures("balance", "0.9", relocations=2),
        "by interval": with_figures("every", "15000", relocations=27),
        "even": with_figures("every", "15000", spread_90=1.31),
    },
    "skewed": {"keeps finding": with_figures("moves", spills=1)},
    "lazy_disk": {
        "finds more": with_figures("0.2", "lazy", results=799),
        "as much": with_figures("long", "lazy", results=1_200),
        "cleans up sooner": with_figures("long", "lazy", deferred=[10, 10, 200]),
    },
    "active_disk": {
        "overtakes": with_figures("0.1", "active", results=799),
        "drops first": with_figures("0.15", "active", results_by_time=[0, 10, 1_000]),
    },
}
CASES = [(name, claim) for name, by_claim in CONTRADICTIONS.items() for claim in by_claim]


def claim_of(name: str, claim: str) -> Claim:
    return claim_in(dcape.EXPERIMENTS, name, claim)


def test_every_claim_has_a_contradiction() -> None:
    assert {(one.name, claim.name) for one in dcape.EXPERIMENTS for claim in one.claims} == set(CASES)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_holds_where_the_record_says_so_and_not_where_it_contradicts(name: str, claim: str) -> None:
    check_both_ways(claim_of(name, claim), partial(record, name), CONTRADICTIONS[name][claim])


@pytest.mark.parametrize(
    ("name", "claim", "change"),
    [
        ("parallel", "changes little", with_figures("small", "5", results_by_time=[0, 9, 1_000])),
        ("parallel", "lasts longer", with_figures("large", "4", used_by_time=[10, 20, 25, 29])),
        ("moves", "cheap", with_figures("every", "15000", results=999)),
        ("alternating", "even", with_figures("none", spread_most=2.9)),
        ("alternating", "more often", with_figures("balance", "0.9", moved_share=9.0)),
        ("skewed", "keeps finding", with_figures("moves", results=700)),
        ("resident", "never exceeded", with_values("auto", state=90)),
        ("resident", "includes clean-up", with_values("lazy-disk", openedBytes=1)),
        ("cgroup", "not killed", with_values("runs", "totals", ended_with=-9)),
        ("read_through", "keeps rate", with_figures("limited", state=30)),
        ("much_state", "stays below", with_values(per_second=19.0)),
        ("spill_victims", "leaves less", with_figures("mixed", "0.5", "productive", deferred=[90])),
    ],
)
def test_a_claim_of_two_parts_needs_both(name: str, claim: str, change: Contradict) -> None:
    measured = record(name)
    change(measured)
    assert claim_of(name, claim).judge(measured).holds is False


def test_where_no_cgroup_can_be_made_nothing_is_decided_and_the_reason_is_said() -> None:
    verdict = claim_of("cgroup", "not killed").judge({"reason": "no controller"})
    assert (verdict.holds, verdict.here) == (None, "not measured: no controller")
    assert "no controller" in BY_NAME["cgroup"].describe({"reason": "no controller"}, {})
    assert not BY_NAME["cgroup"].tables({"reason": "no controller"})


def test_rounds_that_disagree_decide_nothing() -> None:
    measured = record("active_disk")
    measured["0.2"]["active"][0]["results"] = 700
    assert claim_of("active_disk", "overtakes").judge(measured).holds is None


@pytest.mark.parametrize("experiment", dcape.EXPERIMENTS, ids=lambda one: one.name)
def test_records_are_described_and_tabled(experiment: Experiment) -> None:
    measured = record(experiment.name)
    assert experiment.describe(measured, plain(experiment.settings(SIZES["quick"])))
    for table in experiment.tables(measured):
        assert {len(row) for row in table.rows} == {len(table.headings)}
