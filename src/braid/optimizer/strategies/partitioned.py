"""Partitioned: the rows of every stream are spread by the hash of an equality key that all streams share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import Field, dataclass, fields
from itertools import accumulate
from typing import Any, Literal

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout

Assignment = Literal["even"] | tuple[float, ...]
# Each task reads the unit of every group, and each manifest has three numbers of it.
MAX_GROUPS = 1 << 15
# Shares are written as fractions or decimals: (2/3, 1/6, 1/6), (0.33, 0.33, 0.34).
ROUNDING = 1e-6


@dataclass(frozen=True)
class Partitioned:
    """`units`: the number of units; by default one per slot of the cluster.

    `groups`: the number of partition groups, ranges of the keys' hashes that can be assigned to units one by one, many
    more than there are units. None: the keys are not grouped. `assignment`: which share of the groups each unit begins
    with, `"even"` or a share for each unit, together 1.
    """

    units: int | None = None
    groups: int | None = None
    assignment: Assignment = "even"

    def __post_init__(self) -> None:
        if self.units is not None:
            require_positive("Partitioned(units=...)", self.units)
        if self.groups is not None:
            require_positive("Partitioned(groups=...)", self.groups)
            if self.groups > MAX_GROUPS:
                raise StrategyError(f"Partitioned(groups=...) must be at most {MAX_GROUPS:,}, not {self.groups:,}.")
        if self.assignment != "even":
            self._check_shares()

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        if plan.common_part is None:
            raise StrategyError(
                "The strategy Partitioned cannot run this join: it needs an equality that every stream takes part in, "
                "on expressions that cannot raise.",
                hint="Use braid.Biclique() or braid.Auto(), which join on any predicate.",
            )
        count = slots if self.units is None else self.units
        return Layout(epoch=0, kind="partitioned", units=(count,), groups=(count,), group_units=self._assigned(count))

    def describe(self) -> str:
        given = [(field.name, getattr(self, field.name)) for field in fields(self) if _differs(self, field)]
        return f"Partitioned({', '.join(f'{name}={value!r}' for name, value in given)})"

    def _assigned(self, units: int) -> tuple[int, ...]:
        """The unit of each group: consecutive groups are together, so that rows of a unit are so in a merge."""
        if self.groups is None:
            return ()
        if self.groups < units:
            raise StrategyError(
                f"Partitioned has {self.groups} partition groups for {units} units: some would have no rows.",
                hint="Give at least as many groups as units; many more can be balanced better, such as groups=300.",
            )
        shares = (1 / units,) * units if self.assignment == "even" else self.assignment
        if len(shares) != units:
            raise StrategyError(f"Partitioned(assignment=...) has {len(shares)} shares for {units} units.")
        ends = [round(self.groups * end) for end in accumulate(shares)]
        ends[-1] = self.groups
        starts = [0, *ends[:-1]]
        return tuple(
            unit for unit, (start, end) in enumerate(zip(starts, ends, strict=True)) for _ in range(start, end)
        )

    def _check_shares(self) -> None:
        given: Any = self.assignment
        if not isinstance(given, Sequence) or isinstance(given, str) or not all(map(_is_share, given)):
            raise StrategyError(
                f'Partitioned(assignment=...) must be "even" or shares of the units between 0 and 1, such as '
                f"(2/3, 1/6, 1/6), not {given!r}."
            )
        if abs(math.fsum(given) - 1) > ROUNDING:
            raise StrategyError(f"The shares of Partitioned(assignment={given!r}) must add up to 1.")
        if self.groups is None:
            raise StrategyError(
                "Partitioned(assignment=...) needs partition groups, which it assigns to units.",
                hint="Give a number of groups too, such as groups=300.",
            )
        object.__setattr__(self, "assignment", tuple(map(float, given)))


def _is_share(value: object) -> bool:
    return isinstance(value, float | int) and not isinstance(value, bool) and 0 <= value <= 1


def _differs(strategy: Partitioned, field: Field[object]) -> bool:
    """Whether a field was given another value than its default."""
    return bool(getattr(strategy, field.name) != field.default)
