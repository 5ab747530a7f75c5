"""Local dates and clocks in a time zone, by the rules that the JVM has for it.

Analysis reads the rules from the JVM, since a worker's own may be of another version. They are a text of JSON: the
offset before all changes, the instants of changes and the offsets after them, in seconds, and the instant from which on
the changes of 400 years repeat, which is how the Gregorian calendar does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from braid.kernels.expressions.dates import DAY_US, local_days, text_of
from braid.kernels.expressions.vectors import Array, Vector
from braid.plan.expressions import Function

_SECOND_US = 1_000_000
_CYCLE_US = 146_097 * DAY_US


@dataclass(frozen=True)
class _Rules:
    instants_us: Array
    offsets_us: Array
    repeated_from_us: int | None

    def offsets_at(self, instants: Array) -> Array:
        if self.repeated_from_us is not None:
            start = np.int64(self.repeated_from_us)
            # Only later instants are moved; the difference of the others might overflow.
            late = instants >= start
            instants = np.where(late, start + (np.where(late, instants, start) - start) % _CYCLE_US, instants)
        found: Array = self.offsets_us[np.searchsorted(self.instants_us, instants, side="right")]
        return found


@lru_cache(maxsize=8)
def _rules(text: str) -> _Rules:
    known = json.loads(text)
    offsets = np.array([known["first"], *known["offsets"]], np.int64) * _SECOND_US
    start = known["repeated_from"]
    return _Rules(
        np.array(known["instants"], np.int64) * _SECOND_US, offsets, None if start is None else start * _SECOND_US
    )


def _local(operand: Vector, rules: Vector) -> tuple[Array, Array]:
    instants = np.asarray(operand.values, np.int64)
    return local_days(instants, _rules(text_of(rules)).offsets_at(instants))


def _local_date(operand: Vector, rules: Vector) -> Vector:
    return Vector(_local(operand, rules)[0].astype(np.int32), operand.valid)


def _local_clock(operand: Vector, rules: Vector) -> Vector:
    """The time since local midnight."""
    return Vector(_local(operand, rules)[1], operand.valid)


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {"local_date": _local_date, "local_clock": _local_clock}
