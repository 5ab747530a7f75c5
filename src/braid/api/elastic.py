"""`join.elastic(...)`: its arguments, read and checked."""

from __future__ import annotations

import re
from datetime import timedelta

from braid.control.elasticity import Elasticity
from braid.errors import StrategyError
from braid.optimizer.strategies import Strategy
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.durations import duration_us
from braid.plan.layout import Layout

SIZES = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def read_elasticity(
    *,
    low: float,
    high: float,
    target: float,
    patience: int,
    period: str | timedelta,
    capacity: str | int,
    min_units: int,
    max_units: int | None,
) -> Elasticity:
    """The settings as a controller takes them; StrategyError for those that cannot work."""
    if not 0 <= low < target < high:
        raise StrategyError(
            f".elastic needs 0 <= low < target < high, but got low={low}, target={target}, high={high}.",
            hint="For example low=0.3, target=0.6, high=0.8.",
        )
    for name, count in (("patience", patience), ("min_units", min_units), ("max_units", max_units)):
        if count is not None:
            require_positive(f".elastic({name}=...)", count)
    if max_units is not None and max_units < min_units:
        raise StrategyError(f".elastic needs min_units <= max_units, but got {min_units} and {max_units}.")
    return Elasticity(
        low=low,
        high=high,
        target=target,
        patience=patience,
        period_ms=max(1, duration_us(".elastic(period=...)", period) // 1000),
        capacity_bytes=read_bytes(".elastic(capacity=...)", "the memory of a unit", capacity),
        min_units=min_units,
        max_units=max_units,
    )


def read_bytes(argument: str, meaning: str, text: str | int) -> int:
    """A number of bytes, as Spark's settings write it: 512m, 1g; `argument` and what it means are for the error."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?\s*", str(text).lower(), re.ASCII)
    size = 0 if found is None else round(float(found[1]) * SIZES[found[2]])
    if size < 1:
        raise StrategyError(f"{argument} is {meaning}, but got {text!r}.", hint='Write it as in "512m" or "1g".')
    return size


def require_scalable(strategy: Strategy, layout: Layout) -> None:
    """Refuse a strategy whose units cannot be scaled under this layout."""
    if layout.kind not in ("biclique", "time_sliced"):
        raise StrategyError(
            f".elastic scales the sides of a biclique, or the units of time slices, but {strategy.describe()} is "
            f"{layout.kind} here.",
            hint='Use .using(braid.Biclique(...)), with routing="contrand" for joins on an equality.',
        )
