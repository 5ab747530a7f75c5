"""Plans whose heads share copies: never dearer than plans of heads for themselves, and near the best of all plans."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest

from braid.optimizer.semijoins.join_graphs import JoinGraph
from braid.optimizer.semijoins.plans import HeadSequence, SemijoinPlan
from braid.optimizer.semijoins.search import CostModel, exhaustive_plan, greedy_plan
from braid.optimizer.semijoins.shared_costs import shared_plan_seconds
from braid.optimizer.semijoins.sharing import exhaustive_shared_plan, greedy_shared_plan
from braid.plan.sites import Algorithm
from tests.budget import seeds
from tests.properties.test_semijoin_search import SHAPES, any_graph, enumerated, is_valid

NEARLY = 1 + 1e-9
# Heads that would save only by changing together may miss the best plan: one of 48 cases did, by 0.001 %. If SP-S is
# not allowed, six of 400 did, by up to 2.1 times: requests by several kinds of keys become copies that none asked for.
NEAR_THE_BEST = 1.05


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", seeds(9300, 8))
def test_counting_copies_once_finds_no_dearer_plan(seed: int, shape: str) -> None:
    chance = random.Random(f"{seed} {shape}")
    model, graph = any_graph(chance, SHAPES[shape], chance.choice([2, 3, 4]))
    plans = [search(model, graph) for search in (greedy_plan, exhaustive_plan, greedy_shared_plan)]
    best = exhaustive_shared_plan(model, graph)
    costs = [shared_plan_seconds(model, graph, plan) for plan in plans]
    assert is_valid(graph, best)
    assert is_valid(graph, plans[2])
    assert costs[2] <= costs[0] * NEARLY
    assert shared_plan_seconds(model, graph, best) <= min(costs) * NEARLY


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", seeds(9400, 3))
def test_no_head_alone_can_make_the_plan_cheaper(seed: int, shape: str) -> None:
    """Every sequence of one head, with the others as the plan has them."""
    chance = random.Random(f"{seed} {shape}")
    model, graph = any_graph(chance, SHAPES[shape], 3)
    found = exhaustive_shared_plan(model, graph)
    least = shared_plan_seconds(model, graph, found)
    for number, sequence in enumerate(found.sequences):
        for other in enumerated(graph, sequence.head):
            changed = SemijoinPlan((*found.sequences[:number], other, *found.sequences[number + 1 :]))
            assert shared_plan_seconds(model, graph, changed) * NEARLY >= least


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("seed", seeds(9500, 2))
def test_the_plan_is_near_the_best_of_all(seed: int, shape: str) -> None:
    """All plans of three streams by SP-S and one other algorithm."""
    chance = random.Random(f"{seed} {shape}")
    model, graph = any_graph(chance, SHAPES[shape], 3)
    algorithms = (Algorithm.SP_S, chance.choice([one for one in Algorithm if one is not Algorithm.SP_S]))
    model = replace(model, allowed=lambda joined, stream: algorithms)
    best = min(shared_plan_seconds(model, graph, plan) for plan in _all_plans(model, graph))
    found = shared_plan_seconds(model, graph, exhaustive_shared_plan(model, graph))
    assert best <= found * NEARLY
    assert found <= best * NEAR_THE_BEST


def _all_plans(model: CostModel, graph: JoinGraph) -> list[SemijoinPlan]:
    by_head = [[one for one in enumerated(graph, head.name) if _allowed(model, one)] for head in graph.streams]
    return [SemijoinPlan(sequences) for sequences in itertools.product(*by_head)]


def _allowed(model: CostModel, sequence: HeadSequence) -> bool:
    return all(step.algorithm in model.allowed(frozenset(), step.stream) for step in sequence.steps)
