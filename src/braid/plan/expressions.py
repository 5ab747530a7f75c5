"""Typed expressions that Braid evaluates itself, with exactly Spark's meaning.

There are three kinds of node. A type is Spark's simple string ("int", "double", "timestamp", "decimal(10,2)"); every
day-time interval type is "interval". Literal values are plain numbers in the unit of a column in memory: microseconds
for timestamps and intervals, days for dates, unscaled integers for decimals. What these nodes cannot express stays SQL
text for the JVM.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Literal as OneOf
from typing import TypeAlias

Function: TypeAlias = OneOf[
    "eq", "eq_null_safe", "lt", "le", "gt", "ge",
    "and", "or", "not", "is_null", "is_not_null", "is_nan", "in",
    "add", "subtract", "multiply", "divide", "remainder", "negate", "abs", "sqrt",
    "round_half_up", "round_half_even", "round_up", "round_down",
    "cast", "if", "coalesce", "greatest", "least",
    "floor", "ceil", "rint", "sign", "bit_and", "bit_or", "bit_xor", "bit_not",
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "radians", "degrees", "sinh", "cosh", "tanh",
    "year", "month", "day", "quarter", "day_of_year", "day_of_week", "weekday", "week_of_year", "last_day",
    "hour", "minute", "second", "second_with_fraction", "date", "local_date", "local_clock", "truncate_date",
    "truncate_time", "days_between", "add_days", "subtract_days", "unix_date", "unix_micros", "unix_millis",
    "unix_seconds", "unix_timestamp", "unix_double",
    "length", "octet_length", "bit_length", "substring", "concat", "starts_with", "ends_with", "contains", "trim",
    "trim_left", "trim_right", "lower", "upper", "ascii_lower", "ascii_upper", "is_ascii", "levenshtein",
    "power", "cbrt", "hypot", "exp", "expm1", "log", "log2", "log10", "log1p", "log_base",
]  # fmt: skip

APPROXIMATE = frozenset({"sin", "cos", "tan", "lower", "upper"})
"""Functions that depend on the JVM: the last bits of numbers, and the letters that have a case."""


@dataclass(frozen=True)
class Column:
    """A column of a stream, by its flat name `stream.column`."""

    name: str
    stream: int
    type: str


@dataclass(frozen=True)
class Constant:
    """A literal; `None` is NULL."""

    value: int | float | bool | str | None
    type: str


@dataclass(frozen=True)
class Call:
    """A call of a Spark function. `ansi` says whether overflow and division by zero raise."""

    function: Function
    arguments: tuple[Expression, ...]
    type: str
    ansi: bool = True


Expression: TypeAlias = Column | Constant | Call


_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")

# Pickling and evaluation in tasks use several stack frames for every level; Python allows about 1,000 frames.
MAX_DEPTH = 100


@cache
def decimal_digits(type: str) -> tuple[int, int] | None:
    """Precision and scale of a decimal type, None for any other."""
    found = _DECIMAL.fullmatch(type)
    return None if found is None else (int(found[1]), int(found[2]))


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first."""
    pending = [expression]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Call):
            pending += reversed(node.arguments)


def depth_of(expression: Expression) -> int:
    """The number of nodes on the longest path."""
    level, depth = [expression], 0
    while level:
        level = [argument for node in level if isinstance(node, Call) for argument in node.arguments]
        depth += 1
    return depth


def columns_of(expression: Expression) -> tuple[Column, ...]:
    """The distinct columns an expression reads, in order of appearance."""
    return tuple(dict.fromkeys(node for node in walk(expression) if isinstance(node, Column)))


def streams_of(expression: Expression) -> frozenset[int]:
    """The streams an expression reads."""
    return frozenset(column.stream for column in columns_of(expression))
