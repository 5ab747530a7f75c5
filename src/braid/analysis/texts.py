"""Functions of strings in Catalyst trees.

Strings are compared and cut as Spark does, whatever their bytes. Case is another matter: which letters have one depends
on the version of Unicode, which the JVM and Python need not share. Letters of ASCII are the same everywhere. So for
`lower` and `upper` workers exclude pairs of ASCII strings, and the JVM decides on the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from braid.analysis.catalyst import Node
from braid.analysis.rules import Translation, require
from braid.kernels.expressions.evaluate import can_raise
from braid.plan.expressions import Call, Constant, Expression, Function, walk

_CASES: Mapping[Function, Function] = {"lower": "ascii_lower", "upper": "ascii_upper"}
_OF_STRINGS: Mapping[str, tuple[Function, int]] = {
    "Length": ("length", 1), "OctetLength": ("octet_length", 1), "BitLength": ("bit_length", 1),
    "StringTrim": ("trim", 1), "StringTrimLeft": ("trim_left", 1), "StringTrimRight": ("trim_right", 1),
    "StartsWith": ("starts_with", 2), "EndsWith": ("ends_with", 2),
    "Levenshtein": ("levenshtein", 2), "Lower": ("lower", 1), "Upper": ("upper", 1),
}  # fmt: skip
"""Functions of strings alone, with the number of their arguments."""


def _of_strings(translation: Translation, node: Node) -> Expression:
    function, count = _OF_STRINGS[node.kind]
    return Call(function, _strings(translation.all(node), count), node.type)


def _strings(arguments: tuple[Expression, ...], count: int) -> tuple[Expression, ...]:
    require(len(arguments) == count and all(argument.type == "string" for argument in arguments))
    require(not any(can_raise(argument) for argument in arguments[1:]))
    return arguments


def _concatenation(translation: Translation, node: Node) -> Expression:
    arguments = translation.all(node)
    return Call("concat", _strings(arguments, max(1, len(arguments))), node.type)


def _contains(translation: Translation, node: Node) -> Expression:
    text, part = _strings(translation.all(node), 2)
    require(isinstance(part, Constant))
    return Call("contains", (text, part), node.type)


def _substring(translation: Translation, node: Node) -> Expression:
    text, position, length = translation.all(node)
    require((text.type, position.type, length.type) == ("string", "int", "int"))
    require(not can_raise(position) and not can_raise(length))
    return Call("substring", (text, position, length), node.type)


def _end(translation: Translation, node: Node) -> Expression:
    """`left` and `right` by a number of characters."""
    text, length = (translation.of(child) for child in node.children)
    require(
        text.type == "string" and isinstance(length, Constant) and length.value is not None and int(length.value) > 0
    )
    assert isinstance(length, Constant)
    position = 1 if node.kind == "Left" else -int(length.value or 0)
    return Call("substring", (text, Constant(position, "int"), replace(length, type="int")), node.type)


def _like(translation: Translation, node: Node) -> Expression:
    """A pattern whose only wildcards are at its ends."""
    text, pattern = _strings(translation.all(node), 2)
    require(isinstance(pattern, Constant) and pattern.value is not None)
    assert isinstance(pattern, Constant)
    whole = str(pattern.value)
    part = whole.removeprefix("%").removesuffix("%") if len(whole) > 1 else whole.strip("%")
    require(not {"%", "_", str(node.java.escapeChar())} & set(part))
    function: Function = "eq"
    if whole.startswith("%"):
        function = "contains" if whole.endswith("%") else "ends_with"
    elif whole.endswith("%"):
        function = "starts_with"
    return Call(function, (text, Constant(part, "string")), "boolean")


def has_case(expression: Expression) -> bool:
    """Whether it changes the case of letters."""
    return any(isinstance(node, Call) and node.function in _CASES for node in walk(expression))


def possible_in_ascii(predicate: Expression) -> Expression:
    """A predicate that is true wherever the given one is: with the case of ASCII letters, or for any other string."""
    rewritten, changed = _in_ascii(predicate)
    for text in changed:
        unknown = Call("not", (Call("is_ascii", (text,), "boolean"),), "boolean")
        rewritten = Call("or", (rewritten, unknown), "boolean")
    return rewritten


def _in_ascii(node: Expression) -> tuple[Expression, tuple[Expression, ...]]:
    """The expression for ASCII strings, and the strings that must be ASCII for that."""
    if not isinstance(node, Call):
        return node, ()
    found = [_in_ascii(argument) for argument in node.arguments]
    arguments = tuple(argument for argument, _ in found)
    changed = tuple(dict.fromkeys(text for _, texts in found for text in texts))
    if node.function in _CASES:
        changed = tuple(dict.fromkeys((*changed, arguments[0])))
    return replace(node, function=_CASES.get(node.function, node.function), arguments=arguments), changed


TEXT_RULES: Mapping[str, Callable[[Translation, Node], Expression]] = {
    **dict.fromkeys(_OF_STRINGS, _of_strings),
    "Concat": _concatenation,
    "Contains": _contains,
    "Substring": _substring,
    "Left": _end,
    "Right": _end,
    "Like": _like,
}
