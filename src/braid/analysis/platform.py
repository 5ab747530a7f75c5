"""What Spark's results depend on besides an expression: the session's time zone and the version of Java."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Zone:
    """What the session's time zone allows: `fixed` has one constant offset, `offset_us`; `utc` has offset 0."""

    fixed: bool
    utc: bool
    offset_us: int


@dataclass(frozen=True)
class Platform:
    """The zone, the version of Java, and a function that reads the zone's rules as a text for workers, or None."""

    zone: Zone
    java: int
    local_rules: Callable[[], str | None]
