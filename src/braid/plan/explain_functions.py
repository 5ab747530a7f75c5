"""What `explain` says of Python functions: what a pair costs, and which of them wait although their rows are joined."""

from __future__ import annotations

from collections.abc import Sequence

from braid.plan.join import JoinPlan, Probe
from braid.plan.predicate import Conjunct

Cost = tuple[float, float | None]
"""The seconds of a pair, and the share of pairs that pass, where that was sampled."""
UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))


def describe_function(conjunct: Conjunct, seen: Cost | None) -> str:
    """What a function costs: as it was seen, or as it was given."""
    function = conjunct.function
    if function is None:
        return ""
    if seen is not None:
        passing = "" if seen[1] is None else f", {seen[1]:.3g} of the pairs pass"
        return f" (seen: {brief_seconds(seen[0])} a pair{passing})"
    given = [] if function.cost is None else [f"{brief_seconds(function.cost)} a pair"]
    given += [] if function.selectivity is None else [f"{function.selectivity:.3g} of the pairs pass"]
    return f" (given: {', '.join(given)})" if given else ""


def brief_seconds(seconds: float) -> str:
    """A time in the unit that suits it."""
    size, unit = next(((size, unit) for size, unit in UNITS if seconds >= size), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def waiting_functions(plan: JoinPlan, probe: Probe, joined: Sequence[int]) -> list[str]:
    """Functions that could be called on these rows, but wait, in a lookup that nothing else narrows."""
    decided = {*probe.checks, *(number for stage in probe.later for number in stage.conjuncts)}
    members = {*plan.members(probe.stream)}
    if probe.access != "nested loop":
        return []
    return [
        f"    warning: every pair goes on, because {conjunct.written} may raise and waits for other conditions; if it "
        "cannot raise, write braid.udf(..., raises=False)"
        for number, conjunct in enumerate(plan.conjuncts)
        if conjunct.function is not None
        and conjunct.raises
        and number not in decided
        and conjunct.streams <= {*joined, *members}
        and conjunct.streams & members
        and not conjunct.streams <= members
    ]
