"""What Spark's results depend on besides an expression: the session's time zone and the version of Java."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Zone:
    """What the session's time zone allows: `fixed` has one constant offset, `utc` has offset 0."""

    fixed: bool
    utc: bool


@dataclass(frozen=True)
class Platform:
    """What Spark's results depend on besides the expression: the session's time zone and the version of Java."""

    zone: Zone
    java: int
