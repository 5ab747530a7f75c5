"""The interface of a strategy."""

from __future__ import annotations

from typing import Protocol

from braid.errors import StrategyError
from braid.optimizer.semijoins.choice import ChooseSequences
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


class Strategy(Protocol):
    """Chooses how rows are spread over units."""

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        """The layout for a cluster of `slots` slots; StrategyError if the strategy cannot run the plan."""
        ...

    def describe(self) -> str:
        """The strategy as a user would write it."""
        ...


def interleave_of(strategy: Strategy) -> int:
    """How many steps may be under way at once: one, unless the strategy interleaves their rounds."""
    return int(getattr(strategy, "interleave", 1))


def sequences_of(strategy: Strategy, plan: JoinPlan, layout: Layout) -> ChooseSequences | None:
    """How the sequences of each step are chosen, where streams are at distant sites."""
    choosing = getattr(strategy, "choosing", None)
    return None if choosing is None else choosing(plan, layout)


def require_positive(what: str, value: object) -> None:
    """Refuse anything but a whole number of at least one."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise StrategyError(f"{what} must be a whole number of at least 1, not {value!r}.")
