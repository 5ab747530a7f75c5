"""The evaluator without Spark: three-valued logic, NaN, overflow, laziness, and tiles equal to pairs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import PredicateError
from braid.kernels.expressions.evaluate import Evaluator, Vector, can_raise, evaluate, is_true, tileable, to_vector
from braid.plan.expressions import Call, Column, Constant, Expression, Function

T, F, N = True, False, None
NAN, INF = math.nan, math.inf
ARROW = {
    "int": pa.int32(), "bigint": pa.int64(), "tinyint": pa.int8(), "float": pa.float32(), "double": pa.float64(),
    "boolean": pa.bool_(), "string": pa.string(), "binary": pa.binary(),
}  # fmt: skip


def column(name: str, type: str, stream: int = 0) -> Column:
    return Column(name, stream, type)


def call(function: Function, *arguments: Expression, type: str = "boolean", ansi: bool = True) -> Call:
    return Call(function, arguments, type, ansi)


def results(expression: Expression, **columns: tuple[str, list[Any]]) -> list[Any]:
    """The values of an expression over columns given as (type, values); None where NULL."""
    vectors = {name: to_vector(pa.array(values, ARROW[type]), type) for name, (type, values) in columns.items()}
    vector = evaluate(expression, vectors.__getitem__)
    rows = len(next(iter(columns.values()))[1])
    if isinstance(vector.values, pa.Array):
        return list(vector.values.to_pylist())
    values = np.broadcast_to(vector.values, (rows,)).tolist()
    valid = np.broadcast_to(True if vector.valid is None else vector.valid, (rows,)).tolist()
    return [value if known else None for value, known in zip(values, valid, strict=True)]


def pairs(function: Function, type: str, left: list[Any], right: list[Any], ansi: bool = True) -> list[Any]:
    result = type if function in ("add", "subtract", "multiply", "divide", "remainder") else "boolean"
    expression = call(function, column("a", type), column("b", type), type=result, ansi=ansi)
    return results(expression, a=(type, left), b=(type, right))


LEFT = [T, T, T, F, F, F, N, N, N]
RIGHT = [T, F, N, T, F, N, T, F, N]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        ("and", [T, F, N, F, F, F, N, F, N]),
        ("or", [T, T, T, T, F, N, T, N, N]),
        ("eq", [T, F, N, F, T, N, N, N, N]),
        ("eq_null_safe", [T, F, F, F, T, F, F, F, T]),
        ("lt", [F, F, N, T, F, N, N, N, N]),
    ],
)
def test_truth_tables(function: Function, expected: list[bool | None]) -> None:
    assert pairs(function, "boolean", LEFT, RIGHT) == expected


def test_logic_without_nulls_has_no_mask() -> None:
    both = {"a": Vector(np.array([T, F])), "b": Vector(np.array([T, T]))}
    for function in ("and", "or", "eq"):
        assert evaluate(call(function, column("a", "boolean"), column("b", "boolean")), both.__getitem__).valid is None


def test_null_tests_and_not() -> None:
    a = column("a", "boolean")
    assert results(call("not", a), a=("boolean", [T, F, N])) == [F, T, N]
    assert results(call("is_null", a), a=("boolean", [T, F, N])) == [F, F, T]
    assert results(call("is_not_null", a), a=("boolean", [T, F])) == [T, T]
    assert results(call("is_null", column("a", "string")), a=("string", ["x", N])) == [F, T]


def test_is_true_takes_null_for_false() -> None:
    assert is_true(Vector(np.array([T, F, T]), np.array([T, T, F]))).tolist() == [T, F, F]


@pytest.mark.parametrize("type", ["float", "double"])
def test_nan_equals_itself_and_exceeds_everything(type: str) -> None:
    left, right = [NAN, NAN, 1.0, INF, NAN, 0.0], [NAN, INF, NAN, NAN, N, -0.0]
    assert pairs("eq", type, left, right) == [T, F, F, F, N, T]
    assert pairs("lt", type, left, right) == [F, F, T, T, N, F]
    assert pairs("le", type, left, right) == [T, F, T, T, N, T]
    assert pairs("gt", type, left, right) == [F, T, F, F, N, F]
    assert pairs("ge", type, left, right) == [T, T, F, F, N, T]
    assert pairs("eq_null_safe", type, left, right) == [T, F, F, F, F, T]


def test_is_nan_of_null_is_false() -> None:
    assert results(call("is_nan", column("a", "double")), a=("double", [NAN, 1.0, N])) == [T, F, F]


def test_difference_of_infinities_is_nan() -> None:
    difference = call("subtract", column("a", "double"), column("b", "double"), type="double")
    band = call("le", call("abs", difference, type="double"), Constant(1.0, "double"))
    assert results(band, a=("double", [INF, INF, 1.0]), b=("double", [INF, 1.0, 1.5])) == [F, F, T]


def test_single_precision_stays_single() -> None:
    total = call("add", column("a", "float"), column("b", "float"), type="float")
    assert results(total, a=("float", [16777216.0]), b=("float", [1.0])) == [16777216.0]
    huge = float(np.finfo(np.float32).max)
    overflowed = call("subtract", total, total, type="float")
    assert math.isnan(results(overflowed, a=("float", [huge]), b=("float", [huge]))[0])
    assert results(call("eq", overflowed, Constant(NAN, "float")), a=("float", [huge]), b=("float", [huge])) == [T]


TOP, BOTTOM = 2**63 - 1, -(2**63)


@pytest.mark.parametrize(
    ("function", "type", "left", "right", "wrapped"),
    [
        ("add", "tinyint", 127, 1, -128),
        ("subtract", "tinyint", -128, 1, 127),
        ("multiply", "tinyint", 64, 2, -128),
        ("add", "int", 2**31 - 1, 1, -(2**31)),
        ("multiply", "int", 2**16, 2**16, 0),
        ("add", "bigint", TOP, 1, BOTTOM),
        ("subtract", "bigint", BOTTOM, 1, TOP),
        ("multiply", "bigint", BOTTOM, -1, BOTTOM),
        ("multiply", "bigint", -1, BOTTOM, BOTTOM),
        ("multiply", "bigint", 2**32, 2**32, 0),
        ("multiply", "bigint", 3, TOP, TOP - 2),
    ],
)
def test_overflow_raises_or_wraps(function: Function, type: str, left: int, right: int, wrapped: int) -> None:
    with pytest.raises(PredicateError, match="overflowed"):
        pairs(function, type, [left, 0], [right, 0])
    assert pairs(function, type, [left], [right], ansi=False) == [wrapped]
    assert pairs(function, type, [left, N], [N, right]) == [N, N]


@pytest.mark.parametrize(
    ("left", "right"), [(TOP, 1), (BOTTOM, 1), (TOP, -1), (0, BOTTOM), (-1, TOP), (2**31, 2**31), (-(2**62), 2)]
)
def test_products_that_fit_do_not_raise(left: int, right: int) -> None:
    assert pairs("multiply", "bigint", [left, TOP], [right, 1]) == [left * right, TOP]


@pytest.mark.parametrize("function", ["negate", "abs"])
def test_the_least_integer_has_no_opposite(function: Function) -> None:
    expression = call(function, column("a", "bigint"), type="bigint")
    with pytest.raises(PredicateError):
        results(expression, a=("bigint", [BOTTOM]))
    wrapping = call(function, column("a", "bigint"), type="bigint", ansi=False)
    assert results(wrapping, a=("bigint", [BOTTOM, -5]))[0] == BOTTOM


def test_division_by_zero() -> None:
    with pytest.raises(PredicateError, match="divided by zero"):
        pairs("divide", "double", [1.0], [-0.0])
    assert pairs("divide", "double", [1.0, NAN, 3.0], [0.0, -0.0, 2.0], ansi=False) == [N, N, 1.5]
    assert pairs("divide", "double", [N, 1.0], [0.0, N]) == [N, N]
    with pytest.raises(PredicateError, match="divided by zero"):
        pairs("remainder", "int", [1], [0])
    assert pairs("remainder", "int", [-7, 7, -(2**31)], [3, -3, -1]) == [-1, 1, 0]


def test_errors_count_only_where_spark_evaluates() -> None:
    zero = call("eq", column("b", "int"), Constant(0, "int"))
    modulo = call("eq", call("remainder", column("a", "int"), column("b", "int"), type="int"), Constant(1, "int"))
    data: dict[str, Any] = {"a": ("int", [1, 5]), "b": ("int", [0, 4])}
    assert results(call("or", zero, modulo), **data) == [T, T]
    assert results(call("and", call("not", zero), modulo), **data) == [F, T]
    assert results(call("if", zero, Constant(N, "boolean"), modulo), **data) == [N, T]
    assert results(call("coalesce", zero, modulo), **data) == [T, F]
    with pytest.raises(PredicateError):
        results(call("and", zero, modulo), **data)
    with pytest.raises(PredicateError):
        results(call("or", call("and", modulo, zero), zero), **data)


def test_a_null_left_operand_hides_the_right() -> None:
    failing = call("add", column("b", "tinyint"), Constant(1, "tinyint"), type="tinyint")
    assert results(call("eq", column("a", "tinyint"), failing), a=("tinyint", [N, 2]), b=("tinyint", [127, 1])) == [
        N,
        T,
    ]
    with pytest.raises(PredicateError):
        results(call("eq_null_safe", column("a", "tinyint"), failing), a=("tinyint", [N]), b=("tinyint", [127]))


@pytest.mark.parametrize("count", [2, 20])
def test_in_lists(count: int) -> None:
    def member(value: Column, *items: Any) -> Call:
        padding = [Constant(1000 + index, value.type) for index in range(count - len(items))]
        return call("in", value, *(Constant(item, value.type) for item in items), *padding)

    a = column("a", "int")
    assert results(member(a, 1, 2), a=("int", [1, 3, N])) == [T, F, N]
    assert results(member(a, 1, N), a=("int", [1, 3, N])) == [T, N, N]
    d = column("a", "double")
    assert results(member(d, NAN, 0.0), a=("double", [NAN, -0.0, 7.0])) == [T, T, F]


def test_strings_compare_by_bytes() -> None:
    assert pairs("lt", "string", ["\uffee", "a", "", N], ["😀", "ab", "a", "x"]) == [T, T, T, N]
    assert pairs("eq_null_safe", "string", ["a", N, N], ["a", "a", N]) == [T, F, T]
    assert results(call("ge", column("a", "string"), Constant("b", "string")), a=("string", ["a", "b", N])) == [F, T, N]
    assert results(call("eq", column("a", "string"), Constant(N, "string")), a=("string", ["a", N])) == [N, N]
    large = to_vector(pa.array(["a", "b"], pa.large_string()), "string")
    assert is_true(evaluate(call("eq", column("a", "string"), Constant("b", "string")), lambda _: large)).tolist() == [
        F,
        T,
    ]
    assert pairs("gt", "binary", [b"\xff"], [b"\x00\x01"]) == [T]


def test_choices_of_strings() -> None:
    a, b = column("a", "string"), column("b", "string")
    data: dict[str, Any] = {"a": ("string", ["x", N, N]), "b": ("string", ["y", "z", N])}
    assert results(call("coalesce", a, b, type="string"), **data) == ["x", "z", N]
    assert results(call("coalesce", a, Constant("k", "string"), type="string"), **data) == ["x", "k", "k"]
    chosen = call("if", call("is_null", a), b, Constant("w", "string"), type="string")
    assert results(chosen, **data) == ["w", "z", N]


def test_vectors_of_every_type() -> None:
    def values(array: pa.Array, type: str) -> tuple[list[Any], list[bool] | None]:
        vector = to_vector(array, type)
        return vector.values.tolist(), None if vector.valid is None else vector.valid.tolist()

    assert values(pa.array([1, 2], pa.timestamp("us", "UTC")), "timestamp") == ([1, 2], None)
    assert values(pa.array([1, 2], pa.timestamp("ms")), "timestamp_ntz") == ([1000, 2000], None)
    assert values(pa.array([1, -2], pa.duration("us")), "interval") == ([1, -2], None)
    assert values(pa.array([3, 4, 5], pa.date32()).slice(1), "date") == ([4, 5], None)
    decimals = pa.array([None, 150, -250], pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(18, 2), safe=False)
    assert values(decimals.slice(1), "decimal(18,2)") == ([15000, -25000], None)
    booleans = pa.array([T, N, F, T])
    assert values(booleans.slice(1), "boolean") == ([F, F, T], [F, T, T])
    assert values(pa.array([], pa.int32()), "int") == ([], None)
    assert values(pa.chunked_array([[1], [2]], pa.int32()), "int") == ([1, 2], None)


@pytest.mark.parametrize("type", ["int", "bigint", "double"])
def test_columns_without_nulls_are_not_copied(type: str) -> None:
    array = pa.array([1, 2, 3], {"int": pa.int32(), "bigint": pa.int64(), "double": pa.float64()}[type])
    assert to_vector(array, type).values.ctypes.data == array.buffers()[1].address


def random_vector(generator: np.random.Generator, type: str, size: int) -> Vector:
    pools: dict[str, list[Any]] = {
        "tinyint": [0, 1, -1, 127, -128, 5], "int": [0, 1, -1, 2**31 - 1, -(2**31), 7],
        "bigint": [0, 1, -1, TOP, BOTTOM, 9],
        "double": [0.0, -0.0, 1.0, NAN, INF, -INF, 2.5], "float": [0.0, 1.0, NAN, INF, 2.5],
    }  # fmt: skip
    dtype = {"tinyint": np.int8, "int": np.int32, "bigint": np.int64, "double": np.float64, "float": np.float32}[type]
    valid = generator.random(size) > 0.2 if generator.random() < 0.7 else None
    return Vector(generator.choice(np.array(pools[type], dtype=dtype), size), valid)


def tile_expressions(type: str) -> list[Expression]:
    a, b, two = column("a", type), column("b", type, 1), Constant(2, type)
    difference = call("subtract", a, b, type=type, ansi=False)
    return [
        call("le", a, b),
        call("eq_null_safe", a, b),
        call("le", call("abs", difference, type=type, ansi=False), two),
        call("and", call("ge", b, difference), call("le", b, call("add", a, two, type=type, ansi=False))),
        call("or", call("is_null", a), call("not", call("lt", a, b))),
        call("in", a, b, two),
        call("gt", call("if", call("lt", a, two), a, b, type=type), two),
        call("eq", call("coalesce", a, b, type=type), call("negate", b, type=type, ansi=False)),
        call("ge", call("multiply", a, b, type=type, ansi=False), a),
    ]


@pytest.mark.parametrize("type", ["tinyint", "int", "bigint", "float", "double"])
@pytest.mark.parametrize("seed", range(5))
def test_a_tile_equals_its_pairs(type: str, seed: int) -> None:
    generator = np.random.default_rng(seed)
    left, right = random_vector(generator, type, 23), random_vector(generator, type, 31)
    tile = {"a": shaped(left, (-1, 1)), "b": shaped(right, (1, -1))}
    rows, columns = (index.ravel() for index in np.indices((23, 31)))
    flat = {"a": taken(left, rows), "b": taken(right, columns)}
    for expression in tile_expressions(type):
        whole = np.broadcast_to(is_true(evaluate(expression, tile.__getitem__)), (23, 31))
        assert whole.ravel().tolist() == is_true(evaluate(expression, flat.__getitem__)).tolist(), expression


def shaped(vector: Vector, shape: tuple[int, int]) -> Vector:
    return Vector(vector.values.reshape(shape), None if vector.valid is None else vector.valid.reshape(shape))


def taken(vector: Vector, indexes: np.ndarray[Any, Any]) -> Vector:
    return Vector(vector.values[indexes], None if vector.valid is None else vector.valid[indexes])


def test_inputs_are_never_written() -> None:
    values = np.array([-1.0, 2.0])
    expression = call("abs", call("negate", column("a", "double"), type="double"), type="double")
    evaluate(expression, lambda name: Vector(values))
    assert values.tolist() == [-1.0, 2.0]


def test_what_is_written_twice_is_not_overwritten_between() -> None:
    a, b = column("a", "double"), column("b", "double")
    difference = call("subtract", a, b, type="double")
    squares = call("multiply", difference, difference, type="double")
    whole = call("add", call("add", squares, Constant(1.0, "double"), type="double"), difference, type="double")
    values = {"a": np.array([5.0, 7.0]), "b": np.array([2.0, 9.0])}
    ready = Evaluator(whole)
    for _ in range(2):
        assert ready(lambda name: Vector(values[name])).values.tolist() == [13.0, 3.0]
    assert [column.tolist() for column in values.values()] == [[5.0, 7.0], [2.0, 9.0]]


def test_tileable_and_can_raise() -> None:
    assert tileable(call("lt", column("a", "int"), Constant(1, "int")))
    assert not tileable(call("eq", column("a", "string"), Constant("x", "string")))
    assert can_raise(call("add", column("a", "int"), column("b", "int"), type="int"))
    assert not can_raise(call("add", column("a", "double"), column("b", "double"), type="double"))
    assert not can_raise(call("add", column("a", "int"), column("b", "int"), type="int", ansi=False))
    assert can_raise(call("divide", column("a", "double"), column("b", "double"), type="double"))


def test_an_operand_written_twice_is_not_changed_by_the_first_use() -> None:
    a, b = column("a", "double"), column("b", "double")
    difference = call("subtract", a, b, type="double")
    both = call("add", call("abs", difference, type="double"), difference, type="double")
    assert results(both, a=("double", [1.0, 5.0, N]), b=("double", [3.0, 2.0, 1.0])) == [0.0, 6.0, N]


def test_zeros_of_both_signs_are_not_one_operand() -> None:
    a = column("a", "double")
    plus, minus = (call("multiply", a, Constant(zero, "double"), type="double") for zero in (0.0, -0.0))
    by_zero = call(
        "divide", Constant(1.0, "double"), call("add", plus, minus, type="double"), type="double", ansi=False
    )
    assert results(call("add", plus, minus, type="double"), a=("double", [1.0])) == [0.0]
    signs = results(call("add", minus, minus, type="double"), a=("double", [1.0]))
    assert math.copysign(1.0, signs[0]) == -1.0
    assert results(by_zero, a=("double", [1.0])) == [N]
