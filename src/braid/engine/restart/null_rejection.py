"""What NULLs do to expressions, as far as their text shows: predicates that are never true for one, keys that are NULL
for nothing else.

In doubt a predicate may be true for a row with a NULL, and a key may be NULL for a row without one. This matters only
if rows with NULLs were filtered out before.
"""

from __future__ import annotations

import re

# Each gives NULL if any of its arguments is. AND, OR and NOT are missing: NULL AND false is false.
_STRICT = frozenset({
    "try_divide", "try_add", "try_subtract", "try_multiply", "try_mod", "try_cast", "cast", "abs", "sqrt", "cbrt",
    "exp", "pow", "power", "mod", "pmod", "negative", "sign", "signum", "round", "bround", "floor", "ceil", "ceiling",
    "bit_count", "length", "char_length", "upper", "lower", "trim", "ltrim", "rtrim", "substring", "substr", "left",
    "right", "year", "month", "day", "hour", "minute", "second", "date_add", "date_sub", "datediff", "unix_micros",
    "unix_seconds", "to_date", "to_timestamp", "try_to_timestamp", "url_decode", "try_url_decode", "regexp_like",
    "rlike", "like", "concat",
})  # fmt: skip
# Of these, what gives NULL for nothing else: a value, or in ANSI mode an error.
_TOTAL = frozenset({
    "cast", "abs", "negative", "sign", "signum", "length", "char_length", "upper", "lower", "trim", "ltrim", "rtrim",
    "substring", "substr", "left", "right", "year", "month", "day", "hour", "minute", "second", "date_add", "date_sub",
    "datediff", "unix_micros", "unix_seconds", "concat",
})  # fmt: skip
_TYPES = frozenset({
    "timestamp", "timestamp_ntz", "date", "boolean", "tinyint", "smallint", "int", "integer", "bigint", "float",
    "double", "decimal", "string", "binary",
})  # fmt: skip
_INTERVALS = frozenset({"interval", "to", "second", "seconds", "minute", "minutes", "hour", "hours", "day", "days"})
_ALLOWED_WORDS = _STRICT | _TYPES | _INTERVALS | {"as", "div"}
_TEXT_OR_COLUMN = re.compile(r"`(?:[^`]|``)*`|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.)*\"")


def rejects_nulls(sql: str) -> bool:
    """Whether a predicate of flat columns is known to be true for no row in which one of them is NULL."""
    plain = _TEXT_OR_COLUMN.sub(" ", sql)
    words = re.findall(r"[A-Za-z_]\w*", plain)
    called = re.findall(r"([A-Za-z_]\w*)\s*\(", plain)
    return (
        "<=>" not in plain
        and "||" not in plain
        and all(word.lower() in _ALLOWED_WORDS for word in words)
        and all(name.lower() in _STRICT or name.lower() == "decimal" for name in called)
    )


def null_for_nulls_only(sql: str, ansi: bool) -> bool:
    """Whether an expression of flat columns is known to be NULL only where one of them is."""
    plain = _TEXT_OR_COLUMN.sub(" ", sql)
    words = {word.lower() for word in re.findall(r"[A-Za-z_]\w*", plain)}
    # Without ANSI mode overflow, division by zero and failed casts give NULL. An element of a map may be missing.
    may_fail = re.search(r"[-+*/%]", plain) is not None or "cast" in words
    known = words <= _TOTAL | _TYPES | _INTERVALS | {"as"}
    return known and "[" not in plain and (ansi or not may_fail)


def columns_in(sql: str) -> set[str]:
    """The flat columns that an expression reads."""
    quoted = (text for text in _TEXT_OR_COLUMN.findall(sql) if text.startswith("`"))
    return {text[1:-1].replace("``", "`") for text in quoted}
