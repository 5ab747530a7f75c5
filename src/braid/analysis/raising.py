"""Resolved expressions that can never raise, whatever the rows.

This is a list of safe nodes: any other node counts as raising, which only delays its evaluation. Overflow of a
timestamp by a literal interval needs unrealistic dates and is ignored.
"""

from __future__ import annotations

from braid.analysis.catalyst import Node, NotConstant
from braid.analysis.decimals import ROUNDINGS, rounds_after_the_point
from braid.kernels.expressions.decimal_types import SIGN_DIGITS, never_overflows
from braid.plan.expressions import Call, Constant, Function, decimal_digits

_SAFE = frozenset({
    "AttributeReference", "Alias", "EqualTo", "EqualNullSafe", "LessThan", "LessThanOrEqual", "GreaterThan",
    "GreaterThanOrEqual", "And", "Or", "Not", "IsNull", "IsNotNull", "IsNaN", "In", "InSet", "Between", "With",
    "CommonExpressionRef", "CommonExpressionDef", "If", "CaseWhen", "Coalesce", "Nvl", "Nvl2", "NullIf",
    "NullIfResult", "EqualNull", "NaNvl", "Greatest", "Least", "GetStructField", "GetMapValue", "CreateNamedStruct",
    "UnaryPositive", "DatetimeSub", "SubtractTimestamps", "Upper", "Lower", "StringTrim", "StringTrimLeft",
    "StringTrimRight", "StringTrimBoth", "Length", "OctetLength", "BitLength", "Substring", "Left", "Right", "Concat",
    "StartsWith", "EndsWith", "Contains", "StringInstr", "Ascii", "Collate", "ResolvedCollation", "Year", "Month",
    "DayOfMonth", "DayOfWeek", "DayOfYear", "WeekDay", "WeekOfYear", "Quarter", "Hour", "Minute", "Second", "Extract",
    "UnixMicros", "UnixMillis", "UnixSeconds", "UnixDate", "DateDiff", "DateAdd",
    "DateSub", "SecondWithFraction", "XxHash64", "Murmur3Hash", "Md5", "Sha1", "Crc32",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor", "BitwiseNot", "Sqrt", "Cbrt", "Exp", "Expm1", "Log", "Log2", "Log10",
    "Log1p", "Logarithm", "Rint", "Hypot", "Pi", "EulerNumber", "Signum", "Pow", "Sin", "Cos",
    "Tan", "Asin", "Acos", "Atan", "Atan2", "Sinh", "Cosh", "Tanh", "ToRadians", "ToDegrees", "TryAdd", "TrySubtract",
    "TryMultiply", "TryDivide", "TryMod", "ArrayContains", "ArrayExists", "ArrayForAll", "ArrayFilter",
    "ArrayTransform", "LambdaFunction", "NamedLambdaVariable", "Size", "ArraySize", "ArraysOverlap", "ArrayDistinct",
    "ArrayMax", "ArrayMin", "MapKeys", "MapValues", "Reverse", "StringReplace", "InitCap", "Levenshtein",
})  # fmt: skip
_ARITHMETIC: dict[str, Function] = {"Add": "add", "Subtract": "subtract", "Multiply": "multiply"}
_QUOTIENTS: dict[str, Function] = {"Divide": "divide", "Remainder": "remainder"}
_SIGNS = frozenset({"UnaryMinus", "Abs"})
_DIVISIONS = frozenset({"Divide", "Remainder", "IntegralDivide", "Pmod"})
_WHOLE = frozenset({"Ceil", "Floor"})
_PARSERS = frozenset({"ParseToDate", "UnixTimestamp", "ToUnixTimestamp"})
_INDEXES = frozenset({"GetArrayItem", "ElementAt"})
_TRUNCATIONS = frozenset({"TruncTimestamp", "TruncDate"})
_FLOATS = ("float", "double")
_TIMES = ("date", "timestamp", "timestamp_ntz")


def may_raise(node: Node) -> bool:
    """Whether some row could make a resolved expression raise."""
    pending = [node]
    while pending:
        node = pending.pop()
        if node.foldable and _has_value(node):
            continue
        if not _is_safe(node):
            return True
        pending += node.children
    return False


def _has_value(node: Node) -> bool:
    try:
        node.constant()
    except NotConstant:
        return False
    return True


def _is_safe(node: Node) -> bool:
    kind = node.kind
    if kind in _ARITHMETIC:
        return _safe_arithmetic(node)
    if kind in _SIGNS:
        if digits := decimal_digits(node.type):
            return digits[0] <= SIGN_DIGITS
        return node.type in (*_FLOATS, "interval") or not node.java.failOnError()
    if kind in _DIVISIONS:
        return _safe_division(node)
    if kind == "Cast":
        return node.eval_mode != "ANSI" or _safe_cast(node)
    if kind == "Like":
        return _safe_pattern(node)
    if kind == "TimestampAddInterval":
        return node.children[1].foldable
    if kind in _WHOLE and decimal_digits(node.children[0].type) is None:
        return node.children[0].type == "bigint" or not node.fails_on_error
    if kind in ROUNDINGS:
        return node.children[0].type in _FLOATS or rounds_after_the_point(node)
    if kind in _PARSERS:
        return node.children[0].type in _TIMES
    if kind in _INDEXES:
        return not node.java.failOnError()
    if kind in _TRUNCATIONS:
        return any(child.foldable for child in node.children)
    return kind in _SAFE


def _safe_arithmetic(node: Node) -> bool:
    if node.type == "interval":
        return node.kind != "Multiply"
    if decimal_digits(node.type) and never_overflows(_call(_ARITHMETIC[node.kind], node)):
        return True
    # Intervals of months overflow in every mode.
    return node.type in _FLOATS or (node.eval_mode != "ANSI" and not node.type.startswith("interval"))


def _call(function: Function, node: Node) -> Call:
    """An operation on decimals by its types alone."""
    operands = tuple(Constant(None, child.type) for child in node.children)
    return Call(function, operands, node.type)


def _safe_division(node: Node) -> bool:
    if node.eval_mode != "ANSI":
        return True
    if node.kind not in ("Divide", "Remainder"):
        return False
    if decimal_digits(node.type) and not never_overflows(_call(_QUOTIENTS[node.kind], node)):
        return False
    try:
        divisor = node.children[1].constant()
    except NotConstant:
        return False
    if divisor is not None and decimal_digits(node.type):
        divisor = divisor.toJavaBigDecimal()
    return divisor is None or divisor != 0


def _safe_cast(node: Node) -> bool:
    source, target = node.children[0].type, node.type
    if source in _TIMES and target in _TIMES:
        return True
    if target in _FLOATS and (source in _FLOATS or decimal_digits(source)):
        return True
    child = node.children[0].java.dataType()
    return bool(node.java.canUpCast(child, node.java.dataType()))


def _safe_pattern(node: Node) -> bool:
    """A pattern without its escape character has no invalid escape."""
    try:
        pattern = node.children[1].constant()
    except NotConstant:
        return False
    return pattern is None or str(node.java.escapeChar()) not in str(pattern.toString())
