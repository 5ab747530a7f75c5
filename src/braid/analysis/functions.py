"""Catalyst's functions that Braid has under a name of its own, with the types of their arguments.

A function is listed if its kernel was compared with Spark bit by bit, or encloses Spark's value.
"""

from __future__ import annotations

from collections.abc import Mapping

from braid.plan.expressions import Function

_OF_DOUBLES: dict[str, Function] = {
    "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan",
    "ToRadians": "radians", "ToDegrees": "degrees",
}  # fmt: skip
_OF_TWO_DOUBLES: dict[str, Function] = {"Atan2": "atan2", "Pow": "power"}

SIGNATURES: Mapping[str, tuple[Function, tuple[str, ...]]] = {
    **{kind: (function, ("double",)) for kind, function in _OF_DOUBLES.items()},
    **{kind: (function, ("double", "double")) for kind, function in _OF_TWO_DOUBLES.items()},
}
EXTREMES: Mapping[str, Function] = {"Greatest": "greatest", "Least": "least"}
