"""In which order the conjuncts of a lookup are evaluated: first what excludes the most pairs in the least time.

Conjuncts that cannot raise may be evaluated in any order: the answer is the same. The time of a pair and the share of
pairs that pass are measured; until then they are those that the user gave, or guesses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from braid.plan.join import JoinPlan
from braid.plan.predicate import Conjunct
from braid.state.manifest import CheckCost

# Seconds a pair until they are measured: an expression on arrays, what Python can say of one in the JVM, a function.
EXPRESSION_SECONDS, ENCLOSURE_SECONDS, FUNCTION_SECONDS = 3e-8, 3e-7, 1e-6
PASSING = 0.5
# What fewer pairs took is mostly the cost of a call.
MIN_PAIRS = 1000.0
# The share that passes of fewer sampled pairs is mostly chance.
MIN_SAMPLED = 64.0


@dataclass(frozen=True)
class CheckEstimate:
    """What a conjunct is expected to cost: seconds a pair, and the share of pairs that pass."""

    seconds: float
    passing: float

    @property
    def rank(self) -> float:
        """Seconds for each pair that it excludes."""
        excluded = 1.0 - self.passing
        return self.seconds / excluded if excluded > 0 else math.inf


def check_estimates(plan: JoinPlan, costs: Sequence[CheckCost]) -> tuple[CheckEstimate, ...]:
    """The estimate of every conjunct of the plan."""
    known = {cost.conjunct: cost for cost in costs}
    return tuple(_estimate(conjunct, known.get(number)) for number, conjunct in enumerate(plan.conjuncts))


def _estimate(conjunct: Conjunct, cost: CheckCost | None) -> CheckEstimate:
    guess = _guess(conjunct)
    if cost is None:
        return guess
    seconds = cost.seconds / cost.pairs if cost.pairs >= MIN_PAIRS else guess.seconds
    return CheckEstimate(seconds, cost.passed / cost.sampled if cost.sampled >= MIN_SAMPLED else guess.passing)


def choose_check_order(plan: JoinPlan, costs: Sequence[CheckCost]) -> tuple[int, ...]:
    """The conjuncts that cannot raise, in the order in which a lookup evaluates those of them that apply to it."""
    estimates = check_estimates(plan, costs)
    free = [number for number, conjunct in enumerate(plan.conjuncts) if not conjunct.raises]
    return tuple(sorted(free, key=lambda number: estimates[number].rank))


def pair_estimate(estimates: Sequence[CheckEstimate], checks: Sequence[int]) -> CheckEstimate:
    """What several conjuncts cost together, one after another on the pairs that are left."""
    seconds, passing = 0.0, 1.0
    for number in checks:
        seconds += passing * estimates[number].seconds
        passing *= estimates[number].passing
    return CheckEstimate(seconds, passing)


def _guess(conjunct: Conjunct) -> CheckEstimate:
    function = conjunct.function
    if function is None:
        return CheckEstimate(ENCLOSURE_SECONDS if conjunct.in_jvm else EXPRESSION_SECONDS, PASSING)
    seconds = FUNCTION_SECONDS if function.cost is None else function.cost
    return CheckEstimate(seconds, PASSING if function.selectivity is None else function.selectivity)
