"""Every claim of time-sliced joins holds on a record that supports it, and refuses one that contradicts it."""

from __future__ import annotations

from functools import partial

import pytest

from experiments import psp
from experiments.claims import Claim, Measured
from experiments.experiment import Experiment, plain
from experiments.psp import baselines, on_spark
from experiments.psp.size import SIZES
from tests.experiments.judging import Contradict, check_both_ways, claim_in
from tests.experiments.psp_records import record

BY_NAME = {experiment.name: experiment for experiment in psp.EXPERIMENTS}


def at_selectivity(measured: Measured, share: float) -> list[Measured]:
    return [point for point in measured["points"] if point["selectivity"] == share]


def always_shorter(measured: Measured) -> None:
    """Every node more makes the response time shorter."""
    for point in measured["points"]:
        for nodes, one in point["lengths"].items():
            one["latency"] = 1.0 / int(nodes)


def longest_is_best(measured: Measured) -> None:
    for point in at_selectivity(measured, 0.5):
        point["lengths"]["19"]["latency"] = 1e-3


def soon_at_half(measured: Measured) -> None:
    for point in at_selectivity(measured, 0.5):
        for one in point["lengths"].values():
            one["latency"] *= 1e-6


def choosing(by: str) -> Contradict:
    def change(measured: Measured) -> None:
        measured["points"][0]["chosen"][by] = 4

    return change


def taking(share: float, variant: str, seconds: float) -> Contradict:
    def change(measured: Measured) -> None:
        measured["selectivities"][f"{share:g}"][variant]["19"]["latency"] = seconds

    return change


def ending(way: str, seconds: float) -> Contradict:
    def change(measured: Measured) -> None:
        for run in measured[way]:
            run[-2:] = [seconds, seconds]

    return change


def counting(variant: str, what: str, value: float) -> Contradict:
    """Of the most nodes."""

    def change(measured: Measured) -> None:
        measured["variants"][variant]["19"][what] = value

    return change


def sending(what: str, value: float, place: int = -1) -> Contradict:
    def change(measured: Measured) -> None:
        measured["points"][place][what] = value

    return change


def no_more_with_units(measured: Measured) -> None:
    for point in measured["points"]:
        point["bytes_a_result"] = 100 / point["matches"]


def of_nine(what: str, value: float) -> Contradict:
    def change(measured: Measured) -> None:
        measured["9"][what] = value

    return change


def with_runs(ways: int, variant: str, what: str, value: float) -> Contradict:
    """In every round."""

    def change(measured: Measured) -> None:
        for run in measured["joins"][str(ways)]["variants"][variant]:
            run[what] = value

    return change


def in_one_round(ways: int, variant: str, what: str, value: float) -> Contradict:
    def change(measured: Measured) -> None:
        measured["joins"][str(ways)]["variants"][variant][1][what] = value

    return change


def with_rates(streams: int, times: float) -> Contradict:
    def change(measured: Measured) -> None:
        ways = measured[str(streams)]
        for plain_run, run in zip(ways["plain"], ways["interleaved"], strict=True):
            run["rate"] = times * plain_run["rate"]

    return change


def fewer_results(measured: Measured) -> None:
    measured["7"]["interleaved"][2]["results"] -= 1


def _baselines(share: float) -> dict[str, Contradict]:
    return {
        f"aligned {share:g}": taking(share, "segment 10", 1.0),
        f"coordinated {share:g}": taking(share, "copies 2", 10.0),
        f"copies {share:g}": taking(share, "copies 9", 0.01),
        f"ring {share:g}": taking(share, "ring", 100.0),
    }


CONTRADICTIONS: dict[str, dict[str, Contradict]] = {
    "lengths": {
        "minimum": always_shorter,
        "turns": longest_is_best,
        "selective": longest_is_best,
        "grows": soon_at_half,
        "chosen": choosing("queued"),
        "equation5": choosing("equation5"),
    },
    "baselines": {**_baselines(baselines.OUR_SELECTIVITY), **_baselines(baselines.PAPER_SELECTIVITY)},
    "on_spark": {
        "results": in_one_round(7, on_spark.FEW, "results", 89),
        "copies": in_one_round(5, on_spark.RING, "copies", 1),
        "one node": with_runs(3, on_spark.LONG, "busiest_of_a_step", 0.6),
        "aligned": with_runs(9, on_spark.SHORT, "step", 0.5),
        "coordinated": with_runs(3, on_spark.FEW, "step", 0.9),
        "more copies": with_runs(3, on_spark.MANY, "step", 1.1),
        "network": with_runs(5, on_spark.SHORT, "moved_bytes_a_row", 6000),
        "interleaving": with_runs(7, on_spark.INTERLEAVED, "seconds", 10.0),
    },
    "interleaving": {"5-way": with_rates(5, 1.1), "7-way": with_rates(7, 1.3), "results": fewer_results},
    "adaptation": {"stays": ending("on", 9.0), "grows": ending("off", 1.0), "less": ending("off", 1.2)},
    "distribution": {
        "flat": counting("ring", "state_rows", 400),
        "once": counting("ring", "copies", 1),
        "grows": counting("segment 10", "state_rows", 500),
        "state": counting("segment 10", "state_rows", 200),
        "copies": counting("copies 3", "state_rows", 500),
        "copies flat": counting("copies 3", "state_rows", 2000),
        "network": counting("ring", "moved_bytes_a_row", 100),
        "routing": counting("ring", "routing_share", 0.5),
        "routing high": counting("copies 3", "routing_seconds_a_row", 1e-9),
        "metadata": counting("ring", "metadata_bytes_a_step", 5.0),
        "results": counting("ring", "results", 99),
    },
    "traffic": {
        "estimate": sending("visits_a_result", 99.0),
        "equation": sending("visits_a_result", 99.0),
        "units": no_more_with_units,
        "matches": sending("bytes_a_result", 1e6),
    },
    "ways": {"run": of_nine("results", 0), "pairs": of_nine("pairs_a_row", 240.0)},
}
CASES = [(name, claim) for name, by_claim in CONTRADICTIONS.items() for claim in by_claim]


def claim_of(name: str, claim: str) -> Claim:
    return claim_in(psp.EXPERIMENTS, name, claim)


def test_every_claim_has_a_contradiction() -> None:
    assert {(one.name, claim.name) for one in psp.EXPERIMENTS for claim in one.claims} == set(CASES)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_holds_where_the_record_says_so_and_not_where_it_contradicts(name: str, claim: str) -> None:
    check_both_ways(claim_of(name, claim), partial(record, name), CONTRADICTIONS[name][claim])


def test_runs_that_disagree_or_are_few_decide_nothing_of_adaptation() -> None:
    measured = record("adaptation")
    measured["on"][0][-2:] = [9.0, 9.0]
    assert claim_of("adaptation", "stays").judge(measured).holds is None
    few = record("adaptation") | {"on": record("adaptation")["on"][:2]}
    assert claim_of("adaptation", "stays").judge(few).holds is None


@pytest.mark.parametrize("claim", ["aligned", "coordinated", "more copies", "interleaving"])
def test_rounds_on_spark_that_disagree_or_are_few_decide_nothing(claim: str) -> None:
    measured = record("on_spark")
    for one in measured["joins"].values():
        for runs in one["variants"].values():
            del runs[2]
    assert claim_of("on_spark", claim).judge(measured).holds is None
    measured = record("on_spark")
    for name, runs in measured["joins"]["3"]["variants"].items():
        runs[0]["step"] = 1.0 if name != on_spark.MANY else 0.1
    measured["joins"]["5"]["variants"][on_spark.INTERLEAVED][0]["seconds"] = 1e6
    assert claim_of("on_spark", claim).judge(measured).holds is not True


def test_a_join_that_was_not_run_is_not_judged() -> None:
    measured = record("interleaving")
    del measured["7"]
    assert claim_of("interleaving", "7-way").judge(measured).holds is None


def test_saturated_settings_are_listed_and_not_judged() -> None:
    measured = record("lengths")
    point = measured["points"][0]
    point["chosen"]["queued"] = 4
    for one in point["lengths"].values():
        one["load"] = 1.2
    verdict = claim_of("lengths", "chosen").judge(measured)
    assert verdict.holds is True
    assert "1 more settings are saturated at every length" in verdict.here
    (table,) = [one for one in BY_NAME["lengths"].tables(measured) if one.headings[0] == "setting" and not one.caption]
    assert table.rows[0][-2:] == ("saturated", "saturated")


@pytest.mark.parametrize("experiment", psp.EXPERIMENTS, ids=lambda one: one.name)
def test_records_are_described_tabled_and_drawn(experiment: Experiment) -> None:
    measured = record(experiment.name)
    assert experiment.describe(measured, plain(experiment.settings(SIZES["quick"])))
    for table in experiment.tables(measured):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headings)}
    for picture in experiment.pictures(measured):
        assert all(series.points for series in picture.series)
