"""Every claim of joins between sites holds on a record that supports it, and refuses one that contradicts it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pytest

from experiments import semijoin
from experiments.claims import Measured
from experiments.experiment import Experiment
from experiments.semijoin import choice, executed, optimizers, speeds, wide
from experiments.semijoin.one_way import AT_DESTINATION, AT_SOURCE, NAMES
from experiments.semijoin.size import SIZES
from tests.experiments.judging import Contradict, check_both_ways, claim_in
from tests.experiments.semijoin_records import record


def taking(figure: str, names: Sequence[str], seconds: float, place: int = -1) -> Contradict:
    """Seconds of algorithms at a place of a figure."""

    def change(measured: Measured) -> None:
        point = [point for point in measured["points"] if point["figure"] == figure][place]
        point["seconds"]["engine"].update(dict.fromkeys(names, seconds))

    return change


def counting(source: str, name: str, what: str, value: float) -> Contradict:
    def change(measured: Measured) -> None:
        for point in measured["points"]:
            point["counts"][source][name]["forward"][what] = value

    return change


def other_results(measured: Measured) -> None:
    measured["points"][3]["counts"]["engine"]["SM-D1"]["results"] = [5, 7]


def far_from_best(kind: str, source: str, link: str) -> Contradict:
    """In more than a tenth of the settings."""

    def change(measured: Measured) -> None:
        for place in measured[kind]["simulated" if source == "simulated" else "engine"][:3]:
            place[source][link]["ratio"] = 1.2

    return change


def ratios(shape: str, value: float) -> Contradict:
    def change(measured: Measured) -> None:
        measured["random"][shape] = [value] * 20

    return change


def greedy_costs_more(measured: Measured) -> None:
    measured["alike"][7]["greedy"] = 2.01


def running(shape: str, what: str, value: object) -> Contradict:
    def change(measured: Measured) -> None:
        for query in measured[shape]:
            query["counted"]["greedy"][what] = value

    return change


def costing_more(search: str) -> Contradict:
    """Than the plan of the same search that counts copies for every head, in all queries."""

    def change(measured: Measured) -> None:
        for query in (query for queries in measured.values() for query in queries):
            own = query["counted"][search.partition(",")[0]]["link"]
            query["counted"][search]["link"] = 1.1 * own

    return change


def costing_half(measured: Measured) -> None:
    for queries in measured.values():
        for query in queries:
            for search, seconds in query["expected"].items():
                query["counted"][search]["link"] = seconds / 2


def flying(what: str, value: object, search: str = "greedy") -> Contradict:
    """Of a search's plan, at a window of 800 ms."""

    def change(measured: Measured) -> None:
        measured["points"][1]["counted"][search][what] = value

    return change


def sending(case: str, name: str) -> Contradict:
    def change(measured: Measured) -> None:
        measured[case][name]["forward"]["bytes"] = 40.0

    return change


def speeding(rate: int, known: int | None) -> Contradict:
    def change(measured: Measured) -> None:
        measured["runs"][str(rate)]["known"][-1] = known

    return change


def losing_a_row(measured: Measured) -> None:
    measured["runs"]["10"]["results"] -= 1


def on_the_wire(what: str, value: int) -> Contradict:
    def change(measured: Measured) -> None:
        measured["runs"]["SP-D"]["full"][what] = value

    return change


CONTRADICTIONS: dict[str, dict[str, Contradict]] = {
    "parameters": {
        "groups a": taking("a", AT_DESTINATION[:1], 9.0),
        "groups b": taking("b", AT_SOURCE[:1], 0.5),
        "crossing": taking("a", AT_SOURCE, 0.1),
        "close": taking("d", ("SM-S2",), 99.0),
        "simple": taking("c", ("SP-D",), 9.0),
        "source factor": taking("c", ("SM-S2",), 9.0),
        "destination factor": taking("c", ("SM-D1",), 9.0),
        "window": taking("d", ("SP-S",), 0.1),
        "latency": taking("e", ("SP-D",), 0.1),
        "bandwidth": taking("f", ("SM-D1",), 9.0),
        "interval": taking("g", ("SM-D1",), 9.0),
        "one step": taking("b", ("SM-S1",), 9.0),
        "two steps": taking("b", ("SM-D2",), 9.0),
        "bytes": counting("modelled", "SM-S1", "bytes", 130.0),
        "messages": counting("engine", "SM-S1", "messages", 13.0),
        "simulated": counting("simulated", "SM-D2", "bytes", 130.0),
        "framing": counting("engine", "SM-D2", "framing", 100.0),
        "results": other_results,
    },
    "choice": {
        f"{kind} {link} {source}": far_from_best(kind, source, link)
        for kind in choice.KINDS
        for link in choice.LINKS
        for source in choice.SOURCES
    },
    "optimizers": {
        **{f"mean {shape}": ratios(shape, 1.3) for shape in optimizers.SHAPES},
        "ordered": ratios("star", 1.3),
        "below": ratios("full", 1.3),
        "near one": ratios("chain", 1.2),
        "alike": greedy_costs_more,
    },
    "executed": {
        **{f"mean {shape}": running(shape, "link", 4.0) for shape in optimizers.SHAPES},
        **{once: costing_more(once) for once in executed.ONCE.values()},
        "results": running("chain", "results", [3, 5]),
        "expected": costing_half,
    },
    "flights": {
        "links": flying("link", 2.6),
        "links and processor": flying("busy", 1.2),
        "links, copies once": flying("link", 2.0, executed.ONCE["greedy"]),
        "links and processor, copies once": flying("busy", 1.2, executed.ONCE["greedy"]),
        "once": flying("link", 2.1, executed.ONCE["exhaustive"]),
        "results": flying("results", [3, 5]),
    },
    "wide": {case: sending(case, names[-1]) for case, (_, names) in wide.FULL_ROWS.items()},
    "speeds": {
        **{f"{rate} Mbps": speeding(rate, rate * 90_000) for rate in speeds.MOST_ROWS},
        "results": losing_a_row,
    },
    "wire": {"wire": on_the_wire("wire", 69_000_000), "results": on_the_wire("results", 299)},
}
CASES = [(name, claim) for name, by_claim in CONTRADICTIONS.items() for claim in by_claim]


def test_every_claim_has_a_contradiction() -> None:
    assert {(one.name, claim.name) for one in semijoin.EXPERIMENTS for claim in one.claims} == set(CASES)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_holds_where_the_record_says_so_and_not_where_it_contradicts(name: str, claim: str) -> None:
    check_both_ways(claim_in(semijoin.EXPERIMENTS, name, claim), partial(record, name), CONTRADICTIONS[name][claim])


@pytest.mark.parametrize("experiment", semijoin.EXPERIMENTS, ids=lambda one: one.name)
def test_sections_are_made_of_records(experiment: Experiment) -> None:
    measured = record(experiment.name)
    assert experiment.describe(measured, experiment.settings(SIZES["full"]))
    for table in experiment.tables(measured):
        assert {len(row) for row in table.rows} == {len(table.headings)}
    for picture in experiment.pictures(measured):
        assert all(series.points for series in picture.series)


def test_queries_that_differ_much_decide_nothing_of_their_mean() -> None:
    measured = record("executed")
    measured["cycle"][0]["counted"]["greedy"]["link"] = 4.0
    assert claim_in(semijoin.EXPERIMENTS, "executed", "mean cycle").judge(measured).holds is None


def test_a_bandwidth_that_is_not_clear_is_not_found() -> None:
    measured = record("speeds")
    speeding(10, None)(measured)
    assert claim_in(semijoin.EXPERIMENTS, "speeds", "10 Mbps").judge(measured).holds is False


def test_names_of_algorithms_are_all_in_one_group() -> None:
    assert sorted((*AT_SOURCE, *AT_DESTINATION)) == sorted(NAMES)


def test_few_bytes_on_the_wire_decide_nothing_and_neither_does_a_machine_without_namespaces() -> None:
    claim = claim_in(semijoin.EXPERIMENTS, "wire", "wire")
    measured = record("wire")
    measured["runs"]["SP-D"]["full"] |= {"wire": 11_400_000, "bytes": 10_200_000}
    assert claim.judge(measured).holds is None
    skipped = claim.judge({"skipped": "no namespaces", "runs": {}})
    assert (skipped.holds, skipped.here) == (None, "not measured: no namespaces")
