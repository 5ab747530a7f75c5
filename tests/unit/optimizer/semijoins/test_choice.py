"""Which sequences a step runs: by statistics, with reluctance to change, and within what the user allows."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from braid.engine.next_manifest import before_first_step
from braid.errors import StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.semijoins.choice import SiteChoice
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.semijoins.observed import distinct_of, observed_after
from braid.optimizer.strategies import Semijoin
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan
from braid.plan.site_names import Site
from braid.plan.sites import Algorithm
from braid.state.manifest import Manifest, Mark
from braid.state.site_state import SiteState, StreamObservation
from braid.testing import Draft
from braid.testing.expressions import equal

SECOND = 1_000_000


def logical_plan(*sites: str) -> LogicalPlan:
    draft = Draft()
    made = [
        draft.stream(f"s{n}", {"k": "bigint"}, window_us=10 * SECOND, site=Site(site)) for n, site in enumerate(sites)
    ]
    for one, other in pairwise(made):
        draft.on(equal(one["k"], other["k"]))
    return draft.logical_plan()


def manifest_of(plan: JoinPlan, strategy: Semijoin, observed: list[tuple[float, float, float]]) -> Manifest:
    """A state after some steps in which streams had rows a second, bytes a row, and distinct keys."""
    layout = strategy.layout(plan, 2)
    first = before_first_step(plan, "r", layout, 0)
    seen = tuple(
        StreamObservation(n, 10.0, 10 * rate, 10 * rate * size, 10.0, (10.0 * min(keys, rate),))
        for n, (rate, size, keys) in enumerate(observed)
    )
    marks = tuple(Mark(20 * SECOND, 0, 0, 0) for _ in plan.streams)
    return replace(first, step=10, marks=marks, sites=SiteState((), (), observed=seen))


def choose(plan: JoinPlan, strategy: Semijoin, manifest: Manifest) -> SiteChoice:
    return strategy.choosing(plan, strategy.layout(plan, 2))(manifest)


def algorithms(choice: SiteChoice) -> list[str]:
    return [step.algorithm.value for sequence in choice.plan.sequences for step in sequence.steps]


def test_the_stream_with_less_to_ship_is_shipped() -> None:
    """Few narrow rows of s0 travel to s1, whose many wide rows stay; nothing is worth a semijoin here."""
    plan = build_plan(logical_plan("eu", "us"))
    strategy = Semijoin(Network(Link("1 Mbps", "1 ms")))
    choice = choose(plan, strategy, manifest_of(plan, strategy, [(100, 20, 50), (1000, 2000, 50)]))
    assert algorithms(choice) == ["SP-D", "SP-S"]


def test_wide_rows_with_few_partners_are_reduced_first() -> None:
    plan = build_plan(logical_plan("eu", "us"))
    strategy = Semijoin(Network(Link("1 Mbps", "1 ms")))
    wide = [(500.0, 5000.0, 500.0), (500.0, 5000.0, 4.0)]
    assert any(name.startswith("SM") for name in algorithms(choose(plan, strategy, manifest_of(plan, strategy, wide))))


def test_a_plan_goes_on_unless_another_is_clearly_cheaper_and_pays_for_its_copies() -> None:
    plan = build_plan(logical_plan("eu", "us"))
    strategy = Semijoin(Network(Link("1 Mbps", "1 ms")), algorithms=("SP-S", "SP-D"))
    few, many = (100.0, 20.0, 50.0), (1000.0, 2000.0, 50.0)
    manifest = manifest_of(plan, strategy, [few, many])
    first = choose(plan, strategy, manifest)
    assert manifest.sites is not None

    def running(observed: list[tuple[float, float, float]]) -> Manifest:
        sites = manifest_of(plan, strategy, observed).sites
        assert sites is not None
        return replace(manifest, sites=replace(sites, sequences=first.plan.sequences))

    same = choose(plan, strategy, running([few, few]))
    assert same.plan == first.plan, "as good as before"
    assert same.adaptations == ()
    changed = choose(plan, strategy, running([many, few]))
    assert algorithms(changed) == ["SP-S", "SP-D"]
    (text,) = changed.adaptations
    assert "s0: s1 by SP-S" in text
    assert "instead of s0: s1 by SP-D" in text


@pytest.mark.parametrize(("step", "searched"), [(10, True), (17, False), (23, False), (24, True)])
def test_later_steps_search_now_and_then(step: int, searched: bool) -> None:
    plan = build_plan(logical_plan("eu", "us"))
    strategy = Semijoin(Network(Link("1 Mbps", "1 ms")), algorithms=("SP-S", "SP-D"))
    few, many = (100.0, 20.0, 50.0), (1000.0, 2000.0, 50.0)
    first = choose(plan, strategy, manifest_of(plan, strategy, [few, many]))
    turned = manifest_of(plan, strategy, [many, few])
    assert turned.sites is not None
    running = replace(turned, step=step, sites=replace(turned.sites, sequences=first.plan.sequences))
    found = choose(plan, strategy, running)
    assert (found.plan != first.plan) == searched
    assert bool(found.adaptations) == searched


def test_before_rows_were_seen_the_first_plan_stays() -> None:
    plan = build_plan(logical_plan("eu", "us"))
    strategy = Semijoin()
    first = before_first_step(plan, "r", strategy.layout(plan, 2), 0)
    choice = choose(plan, strategy, first)
    later = replace(first, step=0, sites=SiteState(choice.plan.sequences, ()))
    assert choose(plan, strategy, later) == SiteChoice(choice.plan)


def test_only_allowed_algorithms_are_chosen() -> None:
    plan = build_plan(logical_plan("eu", "us", "asia"))
    for given in ("SM-D2", ["SP-D", "SM-D2"], {"s0": "SM-S1", "s1": ("SP-D",)}):
        strategy = Semijoin(algorithms=given)
        choice = choose(plan, strategy, before_first_step(plan, "r", strategy.layout(plan, 3), 0))
        allowed = strategy.settings(plan).algorithms
        for sequence in choice.plan.sequences:
            for step in sequence.steps:
                assert step.algorithm in allowed[plan.streams[step.stream].name]


def test_given_plans_are_taken_and_checked() -> None:
    plan = build_plan(logical_plan("eu", "us", "asia"))
    given = {
        "s0": [("s1", "SM-D1"), ("s2", "SP-D")],
        "s1": [("s2", "SP-S"), ("s0", "SM-S2")],
        "s2": [("s1", "SP-D"), ("s0", "SM-D2")],
    }
    strategy = Semijoin(plans=given)
    manifest = before_first_step(plan, "r", strategy.layout(plan, 3), 0)
    assert algorithms(choose(plan, strategy, manifest)) == ["SM-D1", "SP-D", "SP-S", "SM-S2", "SP-D", "SM-D2"]
    with pytest.raises(StrategyError, match="has a sequence for each stream"):
        choose(plan, Semijoin(plans={"s0": given["s0"]}), manifest)


@pytest.mark.parametrize("values", [3, 50, 1000])
def test_distinct_values_are_estimated_from_those_of_a_step(values: int) -> None:
    rows = 300
    seen = values * (1 - (1 - 1 / values) ** rows)
    assert distinct_of(rows, seen) == pytest.approx(values, rel=0.05)


def test_rows_without_repetition_have_many_values() -> None:
    assert distinct_of(100, 100) >= 5000


def test_observations_decay() -> None:
    one = StreamObservation(0, 1.0, 100.0, 1000.0, 1.0, (10.0,))
    known: tuple[StreamObservation, ...] = ()
    for _ in range(200):
        known = observed_after(known, 2, [one])
    (found,) = known
    assert found.rows == pytest.approx(1000.0, rel=0.01)
    assert found.rows / found.seconds == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"network": "fast"}, "must be a Network"),
        ({"optimizer": "best"}, "'greedy' or 'exhaustive'"),
        ({"algorithms": "SM-X"}, "no algorithm of a semijoin"),
        ({"algorithms": []}, "names no algorithm"),
        ({"interval": "0 s"}, "above zero"),
        ({"plans": {}, "algorithms": "SP-D"}, "plans and algorithms"),
    ],
)
def test_bad_arguments_are_refused_where_they_are_written(given: dict[str, object], message: str) -> None:
    with pytest.raises(StrategyError, match=message):
        Semijoin(**given)  # type: ignore[arg-type]  # that is what is tested


def test_unknown_streams_and_sites_are_refused() -> None:
    plan = build_plan(logical_plan("eu", "us"))
    with pytest.raises(StrategyError, match="names 'x', but the streams are s0, s1"):
        Semijoin(algorithms={"x": "SP-D"}).settings(plan)
    network = Network(Link("1 Mbps", "1 ms"), {("eu", "mars"): Link("1 kbps", "20 min")})
    with pytest.raises(StrategyError, match="a link to mars, where no stream arises"):
        Semijoin(network).settings(plan)


def test_the_strategy_is_described_as_it_was_written() -> None:
    assert Semijoin().describe() == "Semijoin()"
    assert Semijoin(algorithms="SP-D", optimizer="exhaustive").describe() == (
        "Semijoin(algorithms='SP-D', optimizer='exhaustive')"
    )
    assert set(Semijoin(algorithms="optimize").settings(build_plan(logical_plan("a", "b"))).algorithms["s0"]) == set(
        Algorithm
    )
