"""Plans that join everything at one site: for every site, along the join graph, with what is allowed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.optimizer.semijoins.gathering import gathered_plans
from braid.optimizer.semijoins.join_graphs import JoinGraph, chain, full, star
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.semijoins.plans import plan_of
from braid.optimizer.semijoins.search import CostModel
from braid.optimizer.semijoins.shared_costs import shipments
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm

MODEL = CostModel(Network(Link("1 Mbps", "25 ms")), 0.1)
NAMES = "pqrs"


def graph_of(edges: frozenset[frozenset[str]], sites: str = "wxyz") -> JoinGraph:
    key = (JoinAttribute("a", 20, 8),)
    named = zip(NAMES, sites, strict=True)
    return JoinGraph(tuple(StreamStatistics(name, site, 50, 400, 1.0, key) for name, site in named), edges)


def test_every_head_goes_to_the_site_and_looks_up_copies_there() -> None:
    (first, *others) = gathered_plans(MODEL, graph_of(full(NAMES)))
    assert len(others) == 3
    assert first == plan_of(
        graph_of(full(NAMES)),
        {
            "p": [("q", "SP-S"), ("r", "SP-S"), ("s", "SP-S")],
            "q": [("p", "SP-D"), ("r", "SP-S"), ("s", "SP-S")],
            "r": [("p", "SP-D"), ("q", "SP-S"), ("s", "SP-S")],
            "s": [("p", "SP-D"), ("q", "SP-S"), ("r", "SP-S")],
        },
    )


@pytest.mark.parametrize("shape", [full, star, chain])
def test_plans_follow_the_join_graph_and_everything_that_is_new_ends_at_one_site(shape: object) -> None:
    graph = graph_of(shape(NAMES))  # type: ignore[operator]  # one of three functions
    for centre, plan in zip(graph.streams, gathered_plans(MODEL, graph), strict=True):
        written = {one.head: [(step.stream, step.algorithm.value) for step in one.steps] for one in plan.sequences}
        assert plan_of(graph, written) == plan
        copies = {one.target for one in shipments(MODEL, graph, plan) if one.traffic.bytes_per_second == 50 * 400}
        assert centre.site in copies


def test_streams_at_the_site_itself_need_no_copies() -> None:
    (plan, *_) = gathered_plans(MODEL, graph_of(full(NAMES), "wwyz"))
    steps = {one.head: [(step.stream, step.algorithm.value) for step in one.steps] for one in plan.sequences}
    assert steps["p"] == [("q", "SP-D"), ("r", "SP-S"), ("s", "SP-S")]
    assert steps["q"] == [("p", "SP-D"), ("r", "SP-S"), ("s", "SP-S")]


def test_a_plan_whose_algorithms_are_not_allowed_is_left_out() -> None:
    model = replace(MODEL, allowed=lambda joined, stream: (Algorithm.SP_D, Algorithm.SM_S1))
    assert gathered_plans(model, graph_of(full(NAMES))) == []
