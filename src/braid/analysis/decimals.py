"""Decimals in Catalyst trees: literals, rounding functions, and operations that are left to the JVM with a reason."""

from __future__ import annotations

from decimal import Decimal

from braid.analysis.catalyst import Node
from braid.kernels.expressions.decimal_types import is_proven
from braid.plan.expressions import Call, Function, decimal_digits

ROUNDINGS: dict[str, Function] = {
    "Round": "round_half_up",
    "BRound": "round_half_even",
    "RoundCeil": "round_up",
    "Ceil": "round_up",
    "RoundFloor": "round_down",
    "Floor": "round_down",
}


class Unproven(Exception):
    """An operation on decimals whose result is not known to be Spark's; the text names it."""


def proven(call: Call) -> Call:
    """The call, if Braid evaluates it exactly as Spark does; else `Unproven`."""
    if not is_proven(call):
        types = " and ".join(argument.type for argument in call.arguments)
        target = f" to {call.type}" if call.function == "cast" else ""
        raise Unproven(f"no exact {call.function} of {types}{target} in Python")
    return call


def rounds_after_the_point(node: Node) -> bool:
    """Whether a rounding function keeps whole numbers of a decimal as they are; rounding to tens has another rule."""
    value, *places = node.children
    kept = [place.constant() for place in places]
    return decimal_digits(value.type) is not None and all(place is not None and int(place) >= 0 for place in kept)


def unscaled(value: Decimal, scale: int) -> int:
    """The integer that a literal of a scale is in memory."""
    sign, digits, exponent = value.as_tuple()
    size: int = int("".join(map(str, digits))) * 10 ** (scale + int(exponent))
    return -size if sign else size
