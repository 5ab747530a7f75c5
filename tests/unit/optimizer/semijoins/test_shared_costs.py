"""What plans ship as they are run: a copy once, whichever heads use it."""

from __future__ import annotations

import pytest

from braid.optimizer.semijoins.join_graphs import JoinGraph, full
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.semijoins.plans import SemijoinPlan, plan_of
from braid.optimizer.semijoins.search import CostModel, plan_seconds
from braid.optimizer.semijoins.shared_costs import shared_plan_seconds, shipments
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm

MODEL = CostModel(Network(Link("1 Mbps", "25 ms")), 0.1)


def graph_of(sites: str) -> JoinGraph:
    streams = tuple(
        StreamStatistics(name, site, 50, 400, 1.0, (JoinAttribute("a", 20, 8),))
        for name, site in zip("rst", sites, strict=True)
    )
    return JoinGraph(streams, full("rst"))


def plan(graph: JoinGraph, r: str, s: str, t: str) -> SemijoinPlan:
    """Sequences as text: `s SP-D, t SP-S`."""
    texts = {"r": r, "s": s, "t": t}
    steps = {head: [tuple(step.split()) for step in text.split(", ")] for head, text in texts.items()}
    return plan_of(graph, steps)  # type: ignore[arg-type]  # texts of two words


def test_plans_without_copies_cost_the_sum_of_their_sequences() -> None:
    graph = graph_of("xyz")
    found = plan(graph, "s SP-D, t SM-D2", "t SP-D, r SP-D", "r SM-D2, s SP-D")
    assert shared_plan_seconds(MODEL, graph, found) == pytest.approx(plan_seconds(MODEL, graph, found))


def test_a_copy_that_two_heads_use_is_sent_once() -> None:
    """Rows of r reach the site of s by SP-D, and look up t there, of which s has a copy too."""
    graph = graph_of("xyz")
    found = plan(graph, "s SP-D, t SP-S", "t SP-S, r SP-D", "r SP-D, s SP-D")
    copies = [one for one in shipments(MODEL, graph, found) if (one.source, one.target) == ("z", "y")]
    (copy,) = [one for one in copies if one.traffic.bytes_per_second]
    assert copy.traffic.bytes_per_second == pytest.approx(50 * 400)
    link = MODEL.network.default
    once = link.seconds(copy.traffic.bytes_per_second, copy.traffic.messages_per_second) + MODEL.row_seconds * copy.rows
    assert plan_seconds(MODEL, graph, found) - shared_plan_seconds(MODEL, graph, found) == pytest.approx(once)


def test_requests_need_no_messages_where_a_copy_has_all_rows() -> None:
    graph = graph_of("xyz")
    found = plan(graph, "s SP-D, t SM-S1", "t SP-S, r SP-D", "r SP-D, s SP-D")
    requests = [one for one in shipments(MODEL, graph, found) if (one.source, one.target) == ("y", "z")]
    assert sum(one.traffic.messages_per_second for one in requests) == 0


def test_a_copy_of_values_serves_requests_too() -> None:
    """SM-S1 beside SM-D1 is run as SM-S2: values with counts are sent once."""
    graph = graph_of("xyz")
    found = plan(graph, "s SP-D, t SM-S1", "t SM-D1, r SP-D", "r SP-D, s SP-D")
    back = [one for one in shipments(MODEL, graph, found) if (one.source, one.target) == ("z", "y")]
    cost = MODEL.cost(Algorithm.SM_S2, graph.stream("s"), graph.stream("t"))
    messages = sum(one.traffic.messages_per_second for one in back)
    assert messages == pytest.approx(cost.backward.messages_per_second, rel=0.2)


def test_streams_at_one_site_ship_nothing() -> None:
    graph = graph_of("xxx")
    found = plan(graph, "s SP-S, t SP-D", "t SP-D, r SP-D", "r SP-D, s SP-D")
    assert shipments(MODEL, graph, found) == []
    assert shared_plan_seconds(MODEL, graph, found) > 0
