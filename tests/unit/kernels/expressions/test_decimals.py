"""Decimals against Python's: values, rounding, overflow in both modes, NULLs, and tiles equal to pairs."""

from __future__ import annotations

import operator
import random
import struct
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.tasks.selection import to_arrow
from braid.errors import PredicateError
from braid.kernels.expressions.decimal_types import is_proven, never_overflows
from braid.kernels.expressions.decimals import to_numbers
from braid.kernels.expressions.evaluate import Vector, can_raise, evaluate, to_vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function, decimal_digits
from tests.unit.kernels.expressions.decimal_oracle import (
    EXACT,
    ROUNDINGS,
    Digits,
    computed,
    fitted,
    named,
    result_digits,
    some_digits,
    some_values,
    with_other_sign,
)

SEED = 20_261
ROWS = 60
OPERATIONS: tuple[Function, ...] = ("add", "subtract", "multiply", "divide", "remainder")
COMPARISONS: dict[Function, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
LIMITS = {"tinyint": 2**7, "smallint": 2**15, "int": 2**31, "bigint": 2**63}


def arrow(values: list[Decimal | None], digits: Digits) -> Vector:
    return to_vector(pa.array(values, pa.decimal128(*digits)), named(digits))


def column(name: str, digits: Digits) -> Column:
    return Column(name, 0, named(digits))


def read(vector: Vector, type: str, rows: int = ROWS) -> list[Any]:
    """The values of a vector; None where NULL."""
    values = np.broadcast_to(vector.values, (rows,))
    nulls = None if vector.valid is None else ~np.broadcast_to(vector.valid, (rows,))
    digits = decimal_digits(type)
    if digits is not None:
        return list(to_arrow(values, nulls, pa.decimal128(*digits)).to_pylist())
    return [None if nulls is not None and nulls[row] else values[row].item() for row in range(rows)]


def outcome(expression: Expression, columns: dict[str, Vector], rows: int = ROWS) -> list[Any] | None:
    """The values of an expression, None if it raises."""
    try:
        return read(evaluate(expression, columns.__getitem__), expression.type, rows)
    except PredicateError:
        return None


def assert_like(call: Call, columns: dict[str, Vector], exact: list[Any], bad: list[bool]) -> None:
    """The same values; where a row is bad, NULL or, in ANSI mode, an error, and none if the types exclude it."""
    legacy = Call(call.function, call.arguments, call.type, ansi=False)
    assert outcome(legacy, columns) == exact, f"seed {SEED}: {call}"
    assert outcome(call, columns) == (None if any(bad) else exact), f"seed {SEED}: {call}"
    assert can_raise(call) or not any(bad), call
    assert not can_raise(legacy)


@pytest.mark.parametrize("function", OPERATIONS)
def test_operations_are_exact(function: Function) -> None:
    generator = random.Random(f"{SEED} {function}")
    proven = 0
    while proven < 120:
        left, right = some_digits(generator), some_digits(generator, 18 if function in ("divide", "remainder") else 38)
        digits = result_digits(function, left, right)
        call = Call(function, (column("a", left), column("b", right)), named(digits))
        if not is_proven(call):
            continue
        proven += 1
        ones, twos = some_values(generator, left, ROWS), some_values(generator, right, ROWS)
        pairs = list(zip(ones, twos, strict=True))
        exact = [None if None in pair else fitted(computed(function, *pair), digits) for pair in pairs]
        bad = [None not in pair and value is None for pair, value in zip(pairs, exact, strict=True)]
        assert_like(call, {"a": arrow(ones, left), "b": arrow(twos, right)}, exact, bad)


def test_a_quotient_just_below_one_half_is_rounded_down() -> None:
    """Spark rounds to 39 fractional digits first; this divisor is the longest for which that makes no difference."""
    divisor = 10**17 - 1
    dividend = (divisor // 2 * pow(10**18, -1, divisor)) % divisor
    columns = {
        "a": arrow([Decimal(dividend).scaleb(-4)], (18, 4)),
        "b": arrow([Decimal(divisor)], (17, 0)),
    }
    call = Call("divide", (column("a", (18, 4)), column("b", (17, 0))), "decimal(36,22)")
    assert is_proven(call)
    assert outcome(call, columns, 1) == [Decimal("0.0000949999999999999999")], "this is what Spark returns"


def test_comparisons_and_lists() -> None:
    generator = random.Random(SEED)
    for _ in range(40):
        digits = some_digits(generator)
        ones, twos = some_values(generator, digits, ROWS), some_values(generator, digits, ROWS)
        twos = [one if generator.random() < 0.3 else two for one, two in zip(ones, twos, strict=True)]
        columns = {"a": arrow(ones, digits), "b": arrow(twos, digits)}
        sides = (column("a", digits), column("b", digits))
        for name, compare in COMPARISONS.items():
            expected = [None if None in (x, y) else compare(x, y) for x, y in zip(ones, twos, strict=True)]
            assert outcome(Call(name, sides, "boolean"), columns) == expected, (name, digits)
        same = [x == y for x, y in zip(ones, twos, strict=True)]
        assert outcome(Call("eq_null_safe", sides, "boolean"), columns) == same
        listed = [x for x in twos if x is not None][:12]
        items = [Constant(int(x.scaleb(digits[1], EXACT)), named(digits)) for x in listed]
        member = Call("in", (column("a", digits), *items), "boolean")
        assert outcome(member, columns) == [None if x is None else x in listed for x in ones]


@pytest.mark.parametrize("function", ["negate", "abs"])
def test_signs(function: Function) -> None:
    generator = random.Random(SEED)
    for size in (ROWS, 1) * 60:
        digits = some_digits(generator)
        values = some_values(generator, digits, size)
        call = Call(function, (column("a", digits),), named(digits))
        changed = [value is not None and (function == "negate" or value < 0) for value in values]
        exact = [
            fitted(with_other_sign(value), digits) if value is not None and change else value
            for value, change in zip(values, changed, strict=True)
        ]
        fails = any(change and found is None for change, found in zip(changed, exact, strict=True))
        columns = {"a": arrow(values, digits)}
        for ansi in (True, False):
            assert outcome(Call(function, call.arguments, call.type, ansi), columns, size) == (None if fails else exact)
        assert can_raise(call) or not fails


def test_the_least_64_bit_integer_changes_its_sign() -> None:
    values = [Decimal(-(2**63)), Decimal(2)]
    columns = {"a": arrow(values, (38, 0))}
    assert outcome(Call("abs", (column("a", (38, 0)),), "decimal(38,0)"), columns, 2) == [Decimal(2**63), Decimal(2)]
    assert outcome(Call("negate", (column("a", (38, 0)),), "decimal(38,0)"), columns, 2) == [
        Decimal(2**63),
        Decimal(-2),
    ]


def test_casts_between_decimals_round_half_up() -> None:
    generator = random.Random(SEED)
    for _ in range(120):
        source, target = some_digits(generator), some_digits(generator)
        values = some_values(generator, source, ROWS)
        call = Call("cast", (column("a", source),), named(target))
        exact = [fitted(value, target) for value in values]
        bad = [value is not None and found is None for value, found in zip(values, exact, strict=True)]
        assert_like(call, {"a": arrow(values, source)}, exact, bad)


@pytest.mark.parametrize("function", list(ROUNDINGS))
def test_roundings(function: Function) -> None:
    generator = random.Random(SEED)
    for _ in range(40):
        precision, scale = source = some_digits(generator)
        kept = generator.randint(0, scale)
        target = (min(precision - scale + 1 + kept, 38), kept)
        call = Call(function, (column("a", source),), named(target))
        if not is_proven(call):
            continue
        values = some_values(generator, source, ROWS)
        exact = [fitted(value, target, ROUNDINGS[function]) for value in values]
        assert_like(call, {"a": arrow(values, source)}, exact, [False] * ROWS)


@pytest.mark.parametrize("type", list(LIMITS))
def test_casts_from_and_to_integers(type: str) -> None:
    generator = random.Random(f"{SEED} {type}")
    top = LIMITS[type]
    whole = [0, 1, -1, top - 1, -top, 7, -99, None] + [generator.randint(-top, top - 1) for _ in range(ROWS - 8)]
    numbers = to_vector(
        pa.array(whole, {2**7: pa.int8(), 2**15: pa.int16(), 2**31: pa.int32(), 2**63: pa.int64()}[top]), type
    )
    for _ in range(30):
        digits = some_digits(generator)
        call = Call("cast", (Column("i", 0, type),), named(digits))
        exact = [None if value is None else fitted(Decimal(value), digits) for value in whole]
        bad = [value is not None and found is None for value, found in zip(whole, exact, strict=True)]
        assert_like(call, {"i": numbers}, exact, bad)

        back = Call("cast", (column("a", digits),), type)
        values = some_values(generator, digits, ROWS)
        columns = {"a": arrow(values, digits)}
        cut = [None if value is None else int(value.to_integral_value(ROUND_DOWN)) for value in values]
        wrapped = [None if value is None else (value + top) % (2 * top) - top for value in cut]
        assert outcome(Call("cast", back.arguments, type, ansi=False), columns) == wrapped
        fits = wrapped == cut
        assert fits or can_raise(back)
        assert outcome(back, columns) == (cut if fits else None)


@pytest.mark.parametrize("type", ["float", "double"])
def test_casts_to_floating_numbers_are_the_nearest(type: str) -> None:
    generator = random.Random(SEED)
    for _ in range(40):
        digits = some_digits(generator)
        values = some_values(generator, digits, ROWS)
        call = Call("cast", (column("a", digits),), type)
        nearest = [None if value is None else nearest_of(value, type) for value in values]
        assert outcome(call, {"a": arrow(values, digits)}) == nearest
        assert not can_raise(call)


def nearest_of(value: Decimal, type: str) -> float:
    """Python's conversion of text is correctly rounded; the nearest single one is next to the rounded double."""
    double = float(str(value))
    if type == "double":
        return double
    middle = np.float32(double)
    around = [np.nextafter(middle, np.float32(-np.inf)), middle, np.nextafter(middle, np.float32(np.inf))]
    bits = {candidate: struct.unpack("<I", struct.pack("<f", candidate))[0] for candidate in around}
    return float(min(around, key=lambda found: (abs(EXACT.subtract(Decimal(float(found)), value)), bits[found] & 1)))


def test_choices_of_long_and_short_values() -> None:
    short, long, rows = [Decimal(1), None, Decimal(3)], [Decimal(10**30), Decimal(2), None], 3
    columns = {
        "a": arrow(short, (38, 0)),
        "b": arrow(long, (38, 0)),
        "c": to_vector(pa.array([True, False, None]), "boolean"),
    }
    a, b = column("a", (38, 0)), column("b", (38, 0))
    flag = Column("c", 0, "boolean")
    assert outcome(Call("if", (flag, a, b), a.type), columns, rows) == [Decimal(1), Decimal(2), None]
    assert outcome(Call("coalesce", (a, b), a.type), columns, rows) == [Decimal(1), Decimal(2), Decimal(3)]
    assert outcome(Call("coalesce", (b, a), a.type), columns, rows) == [Decimal(10**30), Decimal(2), Decimal(3)]


def test_tiles_equal_pairs() -> None:
    generator = random.Random(SEED)
    for left, right in (((10, 2), (12, 4)), ((38, 18), (38, 18)), ((20, 2), (18, 5))):
        ones, twos = some_values(generator, left, 9), some_values(generator, right, 7)
        sides = {"a": arrow(ones, left), "b": arrow(twos, right)}
        cells = {name: shaped(vector, (-1, 1) if name == "a" else (1, -1)) for name, vector in sides.items()}
        gathered = {
            "a": arrow([one for one in ones for _ in twos], left),
            "b": arrow([two for _ in ones for two in twos], right),
        }
        for function in ("add", "subtract", "multiply"):
            digits = result_digits(function, left, right)
            call = Call(function, (column("a", left), column("b", right)), named(digits), ansi=False)
            band = Call("cast", (Call("abs", (call,), call.type),), "double")
            tile = evaluate(band, cells.__getitem__)
            flat = Vector(
                np.ravel(tile.values), None if tile.valid is None else np.broadcast_to(tile.valid, (9, 7)).ravel()
            )
            assert read(flat, "double", 63) == outcome(band, gathered, 63)


def shaped(vector: Vector, shape: tuple[int, int]) -> Vector:
    return Vector(vector.values.reshape(shape), None if vector.valid is None else vector.valid.reshape(shape))


def test_an_error_counts_only_where_spark_evaluates() -> None:
    top = Decimal(10**38 - 1)
    columns = {"a": arrow([top, Decimal(1)], (38, 0)), "b": arrow([top, None], (38, 0))}
    a, b = column("a", (38, 0)), column("b", (38, 0))
    total = Call("gt", (Call("add", (a, b), "decimal(38,0)"), Constant(0, "decimal(38,0)")), "boolean")
    small = Call("lt", (a, Constant(5, "decimal(38,0)")), "boolean")
    assert outcome(total, columns, 2) is None
    assert outcome(Call("and", (small, total), "boolean"), columns, 2) == [False, None]


def test_numbers_to_sort_by_are_monotone_and_do_not_depend_on_other_rows() -> None:
    generator = random.Random(SEED)
    for digits in ((18, 2), (38, 0), (38, 18), (38, 38), (25, 3)):
        values = sorted(value for value in some_values(generator, digits, 400) if value is not None)
        near = sorted(
            {EXACT.add(value, Decimal(step).scaleb(-digits[1])) for value in values[5:-5:7] for step in range(-3, 4)}
        )
        for some in (values, [fitted(value, digits) for value in near if fitted(value, digits) is not None]):
            together = to_numbers(arrow(list(some), digits).values, named(digits))
            assert (np.diff(together) >= 0).all()
            alone = [to_numbers(arrow([value], digits).values, named(digits))[0] for value in some]
            assert together.tolist() == [float(number) for number in alone]
            assert all(
                abs(number - float(value)) <= 2**-51 * abs(number) for number, value in zip(together, some, strict=True)
            )


def test_a_result_that_always_fits_never_raises() -> None:
    sums = [Call("add", (column("a", (10, 2)), column("b", (10, 2))), "decimal(11,2)")]
    sums += [Call("add", (column("a", (38, 18)), column("b", (38, 18))), "decimal(38,17)")]
    assert [never_overflows(call) for call in sums] == [True, True]
    assert can_raise(Call("add", (column("a", (38, 0)), column("b", (38, 0))), "decimal(38,0)"))
