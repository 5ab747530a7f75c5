"""The three policies, and how much longer than the better of two Adaptive may take, in the model as on Spark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from braid.control.ordering import Policy
from experiments.claims import Ratio

NAMES: dict[Policy, str] = {
    "sync-filter": "Sync-Filter",
    "filter-order": "Filter-Order",
    "adaptive": "Adaptive",
}
FIXED: tuple[Policy, ...] = ("sync-filter", "filter-order")
NEARLY = 1.05
"""What is no more than this apart counts as equal: changing policies and a machine's noise cost something."""

Responses = Mapping[str, Sequence[float]]
"""Mean response times in seconds by policy, one for each round; a round has all policies on the same arrivals."""


def target(alpha: float) -> float:
    """What of Sync-Filter's response time Adaptive is to save where it buffers results, by equation 7."""
    return alpha / (1 + alpha)


def bound(alpha: float) -> float:
    """Adaptive keeps Sync-Filter while Filter-Order saves less than the target: 1 + alpha times as long, or nearly."""
    return NEARLY * (1 + alpha)


def gains(responses: Responses) -> list[float]:
    """What Filter-Order saves of Sync-Filter's response time, in each round."""
    return saved(responses, "filter-order")


def saved(responses: Responses, policy: Policy) -> list[float]:
    both = zip(responses["sync-filter"], responses[policy], strict=True)
    return [1 - other / sync_filter for sync_filter, other in both]


def beyond_better(responses: Responses) -> Ratio:
    """Adaptive over the better of the two others, as measured in each round."""
    better = [min(both) for both in zip(responses["sync-filter"], responses["filter-order"], strict=True)]
    return Ratio.of(responses["adaptive"], better)
