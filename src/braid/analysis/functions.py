"""Catalyst's functions that Braid has under a name of its own, with the types of their arguments.

A function is listed if its kernel was compared with Spark bit by bit, or encloses Spark's value. Spark does not
evaluate an argument after one that is NULL. So that this never matters, only the first argument may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from braid.analysis.catalyst import Node
from braid.analysis.rules import Translation, require
from braid.analysis.texts import TEXT_RULES
from braid.analysis.times import TIME_RULES
from braid.kernels.expressions.evaluate import can_raise
from braid.plan.expressions import Call, Expression, Function

_OF_DOUBLES: dict[str, Function] = {
    "Sin": "sin", "Cos": "cos", "Tan": "tan", "Asin": "asin", "Acos": "acos", "Atan": "atan", "Sinh": "sinh",
    "Cosh": "cosh", "Tanh": "tanh", "ToRadians": "radians", "ToDegrees": "degrees", "Cbrt": "cbrt", "Exp": "exp",
    "Expm1": "expm1", "Log": "log", "Log2": "log2", "Log10": "log10", "Log1p": "log1p", "Signum": "sign",
    "Rint": "rint",
}  # fmt: skip
_OF_TWO_DOUBLES: dict[str, Function] = {"Atan2": "atan2", "Pow": "power", "Hypot": "hypot", "Logarithm": "log_base"}
_SIGNATURES: Mapping[str, tuple[Function, tuple[str, ...]]] = {
    **{kind: (function, ("double",)) for kind, function in _OF_DOUBLES.items()},
    **{kind: (function, ("double", "double")) for kind, function in _OF_TWO_DOUBLES.items()},
}
_OF_ONE_TYPE: Mapping[str, Function] = {
    "Greatest": "greatest", "Least": "least", "BitwiseAnd": "bit_and", "BitwiseOr": "bit_or", "BitwiseXor": "bit_xor",
    "BitwiseNot": "bit_not",
}  # fmt: skip
_WHOLE: Mapping[str, Function] = {"Floor": "floor", "Ceil": "ceil"}
# Functions of java.lang.Math that are StrictMath's up to Java 23; later ones replace some by code of the platform.
_STRICT_ON_KNOWN_JVMS = frozenset({"Asin", "Acos", "Atan", "Atan2", "Sinh", "Cosh", "Tanh", "Cbrt", "Hypot"})
NEWEST_KNOWN_JAVA = 23
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


def _function(translation: Translation, node: Node) -> Expression:
    require(node.kind not in _STRICT_ON_KNOWN_JVMS or translation.platform.java <= NEWEST_KNOWN_JAVA)
    name, types = _SIGNATURES[node.kind]
    arguments = translation.all(node)
    require(tuple(argument.type for argument in arguments) == types)
    require(not any(can_raise(argument) for argument in arguments[1:]))
    return Call(name, arguments, node.type)


def _of_one_type(translation: Translation, node: Node) -> Expression:
    """A function whose arguments and result have the same type."""
    arguments = translation.all(node)
    require(all(argument.type == node.type and not can_raise(argument) for argument in arguments))
    return Call(_OF_ONE_TYPE[node.kind], arguments, node.type)


def round_number(translation: Translation, node: Node) -> Expression:
    """`floor` and `ceil` of doubles; integers, rounded to no fewer digits than they have."""
    argument = translation.of(node.children[0])
    if node.kind in _WHOLE and argument.type == "double":
        return Call(_WHOLE[node.kind], (argument,), node.type, node.fails_on_error)
    require(argument.type in _INTEGERS and argument.type == node.type)
    require(all(place.constant() is not None and int(place.constant()) >= 0 for place in node.children[1:]))
    return argument


FUNCTION_RULES: Mapping[str, Callable[[Translation, Node], Expression]] = {
    **dict.fromkeys(_SIGNATURES, _function),
    **dict.fromkeys(_OF_ONE_TYPE, _of_one_type),
    **TIME_RULES,
    **TEXT_RULES,
}
