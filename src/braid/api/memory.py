"""`join.memory(...)`: its arguments, read and checked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import get_args

from braid.api.elastic import read_bytes
from braid.control.memory.deferring import why_not_deferred
from braid.errors import StrategyError
from braid.optimizer.strategies import Partitioned, Strategy
from braid.plan.durations import duration_us
from braid.plan.join import JoinPlan
from braid.plan.memory import MemoryLimit, Overflow, Victims

Duration = str | timedelta
# Many more than units, so that about a third of a unit's bytes can be chosen.
DEFAULT_GROUPS = 300


def read_memory(
    *,
    limit: str | int,
    overflow: str,
    spill_at: float,
    spill_share: float,
    victims: str,
    inactive_after: Duration | None,
    balance: float,
    min_interval: Duration | None,
    rate_ratio: float | None,
    sample_every: Duration | None,
    disk_limit: str | int | None,
    cache_limit: str | int | None,
) -> MemoryLimit:
    """The limit as the engine takes it; StrategyError for settings that cannot work."""
    _require_one_of("overflow", overflow, get_args(Overflow))
    _require_one_of("victims", victims, get_args(Victims))
    for name, share in (("spill_at", spill_at), ("spill_share", spill_share), ("balance", balance)):
        if not _is_number(share) or not 0 < share <= 1:
            raise StrategyError(
                f".memory({name}=...) is a share above 0, up to 1, but got {share!r}.",
                hint="The defaults are spill_at=0.9, spill_share=0.3 and balance=0.8.",
            )
    if rate_ratio is not None and (not _is_number(rate_ratio) or rate_ratio <= 1):
        raise StrategyError(
            f".memory(rate_ratio=...) is a number above 1, but got {rate_ratio!r}.",
            hint="It is how many times as productive as another a unit must be, before the other one spills for it.",
        )
    return MemoryLimit(
        limit_bytes=_bytes("limit", "the memory of a unit", limit),
        overflow=overflow,  # type: ignore[arg-type]  # it was checked
        spill_at=float(spill_at),
        spill_share=float(spill_share),
        victims=victims,  # type: ignore[arg-type]  # it was checked
        inactive_after_us=_duration("inactive_after", inactive_after),
        balance=float(balance),
        min_interval_us=_duration("min_interval", min_interval),
        rate_ratio=None if rate_ratio is None else float(rate_ratio),
        sample_every_us=_duration("sample_every", sample_every),
        disk_bytes=None if disk_limit is None else _bytes("disk_limit", "the size of the checkpoint", disk_limit),
        cache_bytes=None if cache_limit is None else _bytes("cache_limit", "the size of local copies", cache_limit),
    )


def deferring(strategy: Strategy, memory: MemoryLimit | None, plan: JoinPlan) -> Strategy:
    """The strategy of a query with this limit: one that defers results has partition groups.

    StrategyError if it cannot have any, or if its results cannot come later.
    """
    if memory is None or memory.overflow == "read-through":
        return strategy
    hint = (
        'Use overflow="read-through", which works with every query: state over the limit is read when it is looked up.'
    )
    if not isinstance(strategy, Partitioned):
        raise StrategyError(
            f".memory(overflow={memory.overflow!r}) defers results by partition groups, which {strategy.describe()} "
            "does not have.",
            hint=f"Use braid.Partitioned(), where every stream takes part in one equality. {hint}",
        )
    reason = why_not_deferred(plan)
    if reason is not None:
        raise StrategyError(
            f".memory(overflow={memory.overflow!r}) cannot defer results of this query: {reason}.", hint=hint
        )
    return strategy if strategy.groups is not None else replace(strategy, groups=DEFAULT_GROUPS)


def _require_one_of(name: str, given: object, allowed: Sequence[str]) -> None:
    if given not in allowed:
        raise StrategyError(
            f".memory({name}=...) is one of {', '.join(map(repr, allowed))}, but got {given!r}.",
            hint=f"The default is {allowed[0]!r}.",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bytes(name: str, meaning: str, given: str | int) -> int:
    return read_bytes(f".memory({name}=...)", meaning, given)


def _duration(name: str, given: Duration | None) -> int | None:
    return None if given is None else duration_us(f".memory({name}=...)", given)
