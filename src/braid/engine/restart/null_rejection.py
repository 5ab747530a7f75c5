"""Predicates that are never true for a row in which a column they read is NULL, as far as their text shows.

In doubt a predicate may be true for such a row. This matters only if rows with NULLs were filtered out before.
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
    "rlike", "like",
})  # fmt: skip
_TYPES = frozenset({
    "timestamp", "timestamp_ntz", "date", "boolean", "tinyint", "smallint", "int", "integer", "bigint", "float",
    "double", "decimal", "string", "binary",
})  # fmt: skip
_ALLOWED_WORDS = _STRICT | _TYPES | {"as", "div", "interval", "seconds", "minutes", "hours", "days"}
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
