"""Join graphs, and plans as the user writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from braid.errors import StrategyError
from braid.optimizer.semijoins.join_graphs import JoinGraph, chain, cycle, full, star
from braid.optimizer.semijoins.plans import HeadSequence, PlanStep, plan_of
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm

Edges = frozenset[frozenset[str]]


def graph(names: str, edges: Edges, **attributes: str) -> JoinGraph:
    """Streams named by letters; `attributes` has those of a stream by letter, without it the attribute a."""
    return JoinGraph(
        tuple(
            StreamStatistics(n, n, 1, 1, 1, tuple(JoinAttribute(a, 5, 4) for a in attributes.get(n, "a")))
            for n in names
        ),
        edges,
    )


@pytest.mark.parametrize(
    ("shape", "expected"),
    [(star, "rs rt ru"), (chain, "rs st tu"), (cycle, "rs st tu ur"), (full, "rs rt ru st su tu")],
)
def test_shapes_of_graphs(shape: Callable[[Sequence[str]], Edges], expected: str) -> None:
    assert shape("rstu") == {frozenset(pair) for pair in expected.split()}


def test_the_next_streams_have_a_condition_on_a_joined_one() -> None:
    streams = graph("rstu", chain("rstu"))
    assert streams.next_streams("r") == ("s",)
    assert streams.next_streams("st") == ("r", "u")
    assert streams.next_streams("rstu") == ()


@pytest.mark.parametrize(
    ("names", "edges", "message"),
    [
        ("", frozenset(), "connects pairs of distinct streams"),
        ("r", frozenset(), "connects pairs of distinct streams"),
        ("rr", chain("rr"), "connects pairs of distinct streams"),
        ("rs", chain("rx"), "connects pairs of distinct streams"),
        ("rst", chain("rs"), "do not connect all streams: r, s, t with r - s"),
    ],
)
def test_another_graph_is_refused(names: str, edges: Edges, message: str) -> None:
    with pytest.raises(StrategyError, match=message) as refused:
        graph(names, edges)
    assert refused.value.hint


def test_an_attribute_is_equal_in_all_streams_that_have_it() -> None:
    graph("rst", chain("rst"), r="a", s="ab", t="b")
    with pytest.raises(StrategyError, match="do not connect the streams with a: r, t"):
        graph("rst", chain("rst"), r="ab", s="b", t="ab")


def test_a_plan_has_a_sequence_for_each_stream() -> None:
    plan = plan_of(
        graph("rst", chain("rst")),
        {
            "t": [("s", "SM-D2"), ("r", "SP-D")],
            "r": [("s", "SP-S"), ("t", "SM-S1")],
            "s": [("t", "SM-S2"), ("r", "SM-D1")],
        },
    )
    assert [sequence.head for sequence in plan.sequences] == ["r", "s", "t"]
    assert plan.sequences[0] == HeadSequence("r", (PlanStep("s", Algorithm.SP_S), PlanStep("t", Algorithm.SM_S1)))


R, S, T = [("s", "SP-S"), ("t", "SP-D")], [("t", "SP-S"), ("r", "SP-D")], [("s", "SP-S"), ("r", "SP-D")]


@pytest.mark.parametrize(
    ("plans", "message", "hint"),
    [
        ({}, "is for none", "one sequence for each stream"),
        ({"r": R, "s": S}, "is for r, s; the streams are r, s, t", "one sequence for each stream"),
        ({"r": R, "s": S, "t": T, "x": []}, "is for r, s, t, x", "one sequence for each stream"),
        ({"r": R[::-1], "s": S, "t": T}, "'t' cannot be joined after r", "are s"),
        ({"r": [R[0], R[0]], "s": S, "t": T}, "'s' cannot be joined after r, s", "are t"),
        ({"r": [*R, R[0]], "s": S, "t": T}, "'s' cannot be joined after r, s, t", "all are joined"),
        ({"r": R[:1], "s": S, "t": T}, "The plan of r ends after r, s", "next can be t"),
        ({"r": [("s", "SP"), R[1]], "s": S, "t": T}, "'SP' is no algorithm", "SP-S, SP-D, SM-S1, SM-S2, SM-D1, SM-D2"),
        ({"r": "SP-S", "s": S, "t": T}, r"must be a list of \(stream, algorithm\)", "plans="),
        ({"r": ["s", "t"], "s": S, "t": T}, r"must be a list of \(stream, algorithm\)", "plans="),
    ],
)
def test_a_plan_that_does_not_fit_is_refused(plans: dict[str, list[tuple[str, str]]], message: str, hint: str) -> None:
    with pytest.raises(StrategyError, match=message) as refused:
        plan_of(graph("rst", chain("rst")), plans)
    assert hint in refused.value.hint
