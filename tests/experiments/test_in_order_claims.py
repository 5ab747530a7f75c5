"""Every claim of in-order execution refuses a record that contradicts it; rounds that disagree decide nothing."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import pytest

from experiments import in_order
from experiments.claims import Claim, Measured
from experiments.experiment import Experiment, plain
from experiments.in_order.replay import Pacing
from experiments.in_order.size import Size
from tests.experiments.judging import claim_in

BY_NAME = {experiment.name: experiment for experiment in in_order.EXPERIMENTS}
ALL = (0, 1, 2)  # rounds
TINY = Size("tiny", 3, 2, 20, 2, 3, Pacing(4.0, 1.0), (0.001,), 0.001, (2.0,), (1, 2))

Contradict = Callable[[Measured, Sequence[int]], None]
"""Changes a record so that the given rounds, or runs, contradict a claim."""


def run(mean: float, buffers: str, cost: float = 1.0) -> Measured:
    waiting = {"rows": 1.0, "row_bytes": 24.0, "results": 0.5, "result_bytes": 12.0}
    reported = {"p50": mean, "p99": mean, "engine_mean": mean, "step": 0.3, "delay": 0.2, "modelled_delay": 0.1 * cost}
    return {"mean": mean, **reported, "buffers": buffers, "said": [], "waiting": waiting}


def point(name: str, share: float, means: dict[str, float], queries: int = 1) -> Measured:
    """Three rounds alike; Adaptive buffers what Filter-Order does where that takes clearly less."""
    adaptive = "results" if means["filter-order"] < 0.9 * means["sync-filter"] else "rows"
    buffers = {"sync-filter": "rows", "filter-order": "results", "adaptive": adaptive}
    rounds = {policy: [run(mean, buffers[policy], queries) for _ in ALL] for policy, mean in means.items()}
    return {"name": name, "cost": share / 200, "turn": 4.0, "queries": queries, "share": share, "rounds": rounds}


def on_spark(*points: Measured) -> Measured:
    return {"pacing": {"seconds": 32.0, "warm_up": 20.0}, "alpha": 0.1, "points": list(points)}


def taking(sync_filter: float, filter_order: float, adaptive: float) -> dict[str, float]:
    return {"sync-filter": sync_filter, "filter-order": filter_order, "adaptive": adaptive}


@cache
def measured_once(name: str) -> Measured:
    """What a tiny run found, or by hand what runs on Spark would report if every claim held."""
    if name in ("timed_costs", "timed_rates"):
        few, many = taking(2.05, 2.0, 2.04), taking(5.0, 3.3, 3.4)
        return on_spark(
            point("little", 0.01, few), point("some", 0.07, taking(2.6, 2.2, 2.2)), point("much", 0.28, many)
        )
    if name == "timed_overload":
        return on_spark(point("beyond", 0.7, taking(20.0, 9.0, 9.2)))
    if name == "concurrent":
        alone, three = {"sync-filter": 2.3, "filter-order": 2.1}, {"sync-filter": 3.3, "filter-order": 2.4}
        return on_spark(point("1 query", 0.04, alone), point("3 queries", 0.12, three, 3))
    return dict(plain(BY_NAME[name].measure(TINY)))


def record(name: str) -> Measured:
    return copy.deepcopy(measured_once(name))


def respond(responses: dict[str, list[float]], rounds: Iterable[int], **seconds: float) -> None:
    for number in rounds:
        for policy, value in seconds.items():
            responses[policy.replace("_", "-")][number] = value


def on_rounds(one: Measured, rounds: Iterable[int], **seconds: float) -> None:
    for number in rounds:
        for policy, value in seconds.items():
            one["rounds"][policy.replace("_", "-")][number]["mean"] = value


def shrinking(key: str) -> Contradict:
    """What is saved becomes less from point to point."""

    def change(measured: Measured, rounds: Sequence[int]) -> None:
        for number, one in enumerate(measured["points"]):
            respond(one[key], rounds, sync_filter=100.0, filter_order=50.0 + number)

    return change


def saving_much(measured: Measured, rounds: Sequence[int]) -> None:
    respond(measured["points"][0]["responses"], rounds, sync_filter=10.0, filter_order=4.0)


def saving_little_beyond(measured: Measured, rounds: Sequence[int]) -> None:
    for one in measured["points"]:
        if one["share"] > 0.5:
            respond(one["responses"], rounds, sync_filter=10.0, filter_order=9.0)


def saving_little_at_the_switch(measured: Measured, rounds: Sequence[int]) -> None:
    (one,) = [one for one in measured["points"] if one["cost"] == 0.0005]
    respond(one["responses"], rounds, sync_filter=10.0, filter_order=9.0)


def switching_early(measured: Measured, rounds: Sequence[int]) -> None:
    for number in rounds:
        measured["points"][0]["buffering_results"][number] = 1.0


def taking_longer(measured: Measured, rounds: Sequence[int]) -> None:
    respond(measured["points"][0]["responses"], rounds, sync_filter=10.0, filter_order=10.0, adaptive=14.0)


def gaining_little(measured: Measured, rounds: Sequence[int]) -> None:
    measured["points"][1]["buffering_results"] = [1.0 for _ in ALL]
    respond(measured["points"][1]["responses"], rounds, sync_filter=10.0, filter_order=5.0, adaptive=9.0)


def staying_behind(measured: Measured, rounds: Sequence[int]) -> None:
    respond(measured["points"][1]["responses"], ALL, sync_filter=10.0, filter_order=6.0, adaptive=6.0)
    respond(measured["points"][1]["responses"], rounds, adaptive=7.0)


def emitting_soon(measured: Measured, rounds: Sequence[int]) -> None:
    respond(measured["points"][0]["responses"], rounds, filter_order=59.0)


def keeping_up_beyond(measured: Measured, rounds: Sequence[int]) -> None:
    for one in measured["limits"]:
        one["growth"] = 1.0


def lagging(measured: Measured, rounds: Sequence[int]) -> None:
    for one in measured["limits"]:
        one["growth"] = 2.0


def becoming_longer(measured: Measured, rounds: Sequence[int]) -> None:
    for number in rounds:
        measured["points"][-1]["random"]["sync-filter"][number] = 1e6


def taking_a_minute(measured: Measured, rounds: Sequence[int]) -> None:
    respond(measured["points"][-1]["random"], rounds, sync_filter=60.0, filter_order=55.0)


def exchanging(place: int, key: str) -> Contradict:
    """What one policy buffers the other does."""

    def change(measured: Measured, rounds: Sequence[int]) -> None:
        both = measured["points"][place][key]
        less, more = sorted(both, key=lambda policy: str(policy), reverse=place == 0)
        both[less], both[more] = both[more], both[less]

    return change


def holding(policy: str, place: int, what: str) -> Contradict:
    def change(measured: Measured, rounds: Sequence[int]) -> None:
        measured["points"][place]["buffered"][policy][what] = 1e9

    return change


def gaining_less(measured: Measured, rounds: Sequence[int]) -> None:
    on_rounds(measured["points"][-1], rounds, sync_filter=5.0, filter_order=4.99)


def gaining_most(measured: Measured, rounds: Sequence[int]) -> None:
    on_rounds(measured["points"][-1], rounds, sync_filter=5.0, filter_order=2.0)


def exceeding_the_better(measured: Measured, rounds: Sequence[int]) -> None:
    """As it was at 0.35 ms a pair: Adaptive did as well as Sync-Filter, and the other policy was better."""
    place = len(measured["points"]) // 2
    on_rounds(measured["points"][place], rounds, sync_filter=2.76, filter_order=2.286, adaptive=2.677)


def buffering_rows(measured: Measured, rounds: Sequence[int]) -> None:
    for number in rounds:
        measured["points"][-1]["rounds"]["adaptive"][number]["buffers"] = "rows"


def costing_the_same(measured: Measured, rounds: Sequence[int]) -> None:
    for number in rounds:
        measured["points"][-1]["rounds"]["filter-order"][number]["modelled_delay"] = 0.1


FOLLOWING = {"bounded": taking_longer, "target": gaining_little, "as-well": staying_behind}
ON_SPARK = {
    "grows": gaining_less,
    "half": gaining_most,
    "bounded": exceeding_the_better,
    "selects": buffering_rows,
}
CONTRADICTIONS: dict[str, dict[str, Contradict]] = {
    "equations": {"limit-apart": keeping_up_beyond, "limit": lagging},
    "low_rates": {"grows": shrinking("random"), "falls": becoming_longer, "halves": taking_a_minute},
    "costs": {
        "grows-apart": shrinking("apart"),
        "grows": shrinking("responses"),
        "half": saving_much,
        "beyond-half": saving_little_beyond,
        "conservative": saving_little_at_the_switch,
        "switches": switching_early,
        **FOLLOWING,
    },
    "rates": {"grows": shrinking("responses"), "minute": emitting_soon, "switches": switching_early, **FOLLOWING},
    "buffered": {"unselective": exchanging(-1, "waiting"), "selective": exchanging(0, "waiting")},
    "buffered_bytes": {
        "unselective": holding("sync-filter", -1, "row_bytes"),
        "selective": holding("filter-order", 0, "result_bytes"),
        "same-state": holding("filter-order", 0, "state_bytes"),
        "total": holding("filter-order", 0, "result_bytes"),
    },
    "timed_costs": ON_SPARK,
    "timed_rates": ON_SPARK,
    "timed_overload": {"beyond-half": gaining_less, "bounded": exceeding_the_better},
    "concurrent": {"proportional": costing_the_same, "grows": gaining_less},
}
CASES = [(name, claim) for name, by_claim in CONTRADICTIONS.items() for claim in by_claim]
TIMED = [(name, claim) for name, claim in CASES if BY_NAME[name].timed]


def claim_of(name: str, claim: str) -> Claim:
    return claim_in(in_order.EXPERIMENTS, name, claim)


def test_every_claim_that_could_be_false_has_a_contradiction() -> None:
    open_claims = {(one.name, claim.name) for one in in_order.EXPERIMENTS for claim in one.claims if not claim.certain}
    assert open_claims == set(CASES)


@pytest.mark.parametrize(("name", "claim"), CASES)
def test_a_claim_refuses_a_record_that_contradicts_it(name: str, claim: str) -> None:
    measured = record(name)
    CONTRADICTIONS[name][claim](measured, ALL)
    verdict = claim_of(name, claim).judge(measured)
    assert verdict.holds is False, verdict


@pytest.mark.parametrize(("name", "claim"), TIMED)
def test_rounds_that_disagree_leave_a_claim_undecided(name: str, claim: str) -> None:
    assert claim_of(name, claim).judge(record(name)).holds is True
    measured = record(name)
    CONTRADICTIONS[name][claim](measured, ALL[:1])
    assert claim_of(name, claim).judge(measured).holds is None


def test_what_is_by_construction_would_be_refused_too() -> None:
    measured = record("equations")
    for one in measured["points"]:
        one["sync_filter"], one["filter_order"] = 2.5 * one["sync_filter"], 1.2 * one["filter_order"]
    judged = {one.claim.name: one.verdict.holds for one in BY_NAME["equations"].judged(measured)}
    assert [judged[name] for name in ("third", "fifth", "seventh", "half")] == [False] * 4


@pytest.mark.parametrize("experiment", in_order.EXPERIMENTS, ids=lambda one: one.name)
def test_records_are_described_tabled_and_drawn(experiment: Experiment) -> None:
    measured = record(experiment.name)
    assert experiment.describe(measured, experiment.settings(TINY))
    for table in experiment.tables(measured):
        assert table.rows
        assert {len(row) for row in table.rows} == {len(table.headings)}
    for picture in experiment.pictures(measured):
        assert all(series.points for series in picture.series)
    assert len({claim.name for claim in experiment.claims}) == len(experiment.claims)
