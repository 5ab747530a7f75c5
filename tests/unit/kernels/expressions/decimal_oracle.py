"""Spark's rules for decimals, on Python's own: types of results, rounding, overflow."""

from __future__ import annotations

import random
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal

from braid.plan.expressions import Function

EXACT = Context(prec=200)
ROUNDINGS: dict[str, str] = {
    "round_half_up": ROUND_HALF_UP,
    "round_half_even": ROUND_HALF_EVEN,
    "round_up": ROUND_CEILING,
    "round_down": ROUND_FLOOR,
}
Digits = tuple[int, int]


def named(digits: Digits) -> str:
    return f"decimal({digits[0]},{digits[1]})"


def adjusted(precision: int, scale: int) -> Digits:
    """Spark's type for a result that may need more than 38 digits, with loss of precision allowed."""
    if precision <= 38:
        return precision, scale
    return 38, max(38 - (precision - scale), min(scale, 6))


def result_digits(function: Function, left: Digits, right: Digits) -> Digits:
    (p1, s1), (p2, s2) = left, right
    if function in ("add", "subtract"):
        return adjusted(max(p1 - s1, p2 - s2) + max(s1, s2) + 1, max(s1, s2))
    if function == "multiply":
        return adjusted(p1 + p2 + 1, s1 + s2)
    if function == "divide":
        scale = max(6, s1 + p2 + 1)
        return adjusted(p1 - s1 + s2 + scale, scale)
    return adjusted(min(p1 - s1, p2 - s2) + max(s1, s2), max(s1, s2))


def computed(function: Function, left: Decimal, right: Decimal) -> Decimal | None:
    """The value before it is fitted to its type; a quotient is rounded to 39 fractional digits first. None: by zero."""
    if function == "add":
        return EXACT.add(left, right)
    if function == "subtract":
        return EXACT.subtract(left, right)
    if function == "multiply":
        return Context(prec=39, rounding=ROUND_HALF_UP).multiply(left, right)
    if right == 0:
        return None
    if function == "remainder":
        return EXACT.remainder(left, right)
    ratio = Context(prec=400, rounding=ROUND_DOWN).divide(left, right)
    return ratio.quantize(Decimal(1).scaleb(-39), ROUND_HALF_UP, Context(prec=200))


def with_other_sign(value: Decimal) -> Decimal:
    """Spark's change of a sign, which keeps 34 digits."""
    return Context(prec=34, rounding=ROUND_HALF_EVEN).minus(value)


def fitted(value: Decimal | None, digits: Digits, rounding: str = ROUND_HALF_UP) -> Decimal | None:
    """A value in a type; None if it does not fit."""
    if value is None:
        return None
    found = value.quantize(Decimal(1).scaleb(-digits[1]), rounding, EXACT)
    return found if found.copy_abs() < Decimal(1).scaleb(digits[0] - digits[1], EXACT) else None


def some_digits(generator: random.Random, longest: int = 38) -> Digits:
    precision = generator.choice([1, 2, 9, 10, 17, 18, 19, 20, 28, 37, 38, generator.randint(1, 38)])
    precision = min(precision, longest)
    return precision, min(precision, generator.choice([0, 0, 1, 2, 2, 4, 6, 18, 37, 38, generator.randint(0, 38)]))


def some_values(generator: random.Random, digits: Digits, count: int) -> list[Decimal | None]:
    """Values of a type: the ends of its range, halves, powers of ten, digits of any length, NULLs."""
    precision, scale = digits
    top = 10**precision - 1
    sizes = [
        0,
        1,
        5,
        15,
        25,
        45,
        50,
        49,
        top,
        top - 1,
        10 ** (precision - 1),
        top // 2,
        2**63,
        2**63 - 1,
        2**64,
        2**64 + 1,
    ]
    values: list[Decimal | None] = []
    for _ in range(count):
        size = generator.choice(
            [*sizes, generator.randint(0, top), generator.randint(0, 10 ** generator.randint(1, 38))]
        )
        unscaled = min(size, top) * generator.choice([1, -1])
        values.append(None if generator.random() < 0.1 else Decimal(unscaled).scaleb(-scale, EXACT))
    return values
