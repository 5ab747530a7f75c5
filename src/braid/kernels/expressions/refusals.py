"""Errors of arithmetic: raised only for rows whose operands are not NULL and whose errors count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from braid.errors import PredicateError
from braid.kernels.expressions.vectors import Mask


def refuse(bad: Any, valid: Mask | None, active: Mask | None, refusal: Callable[[], NoReturn]) -> None:
    """Raise if a bad result is of operands that are `valid`, in a row that is `active`; None: all are."""
    if bad.any():
        for mask in (valid, active):
            bad = bad if mask is None else bad & mask
        if bad.any():
            refusal()


def overflow() -> NoReturn:
    raise PredicateError(
        "A predicate was evaluated and its arithmetic overflowed.",
        "Spark's ANSI mode allows only results that fit the type of the operands.",
        "widen an operand, as in CAST(x AS BIGINT), or guard the conjunct with a condition before it.",
    )


def decimal_overflow() -> NoReturn:
    raise PredicateError(
        "A predicate was evaluated and a decimal did not fit the type of its result.",
        "Spark allows only results that fit, at most 38 digits; without ANSI mode most of the others are NULL.",
        "cast the operands to decimals of fewer digits, or guard the conjunct with a condition before it.",
    )


def division_by_zero() -> NoReturn:
    raise PredicateError(
        "A predicate was evaluated and it divided by zero.",
        "Spark's ANSI mode allows no zero divisor.",
        "guard it, as in q.b <> 0 AND o.a / q.b > 2, or use try_divide.",
    )
