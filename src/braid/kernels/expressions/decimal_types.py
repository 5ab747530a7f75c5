"""What the types of a decimal operation alone decide: whether Braid's result is Spark's, and whether it always fits.

Spark computes a sum, difference or product exactly, rounds it half up to the scale of the result's type, and then the
result must fit that type. Results of more than 38 digits get fewer fractional digits, so they may be rounded, and they
may overflow. A changed sign is different: Spark rounds it half even to 34 digits, and raises in every mode if that
exceeds the type. An operation is proven here if its exact result fits 128 bits; a quotient also needs a divisor so
short that Spark's two roundings, first to 39 fractional digits, equal one.
"""

from __future__ import annotations

from braid.kernels.expressions.vectors import LONGEST_NARROW_DECIMAL
from braid.plan.expressions import Call, decimal_digits

MAX_DIGITS = 38
SIGN_DIGITS = 34
_FIRST_QUOTIENT_SCALE = 39
# Digits of the largest values, and how many digits always fit.
_INTEGER_DIGITS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19}
# In ANSI mode Spark compares a decimal with the limits of an integer as a double; so few fractional digits are exact.
_MAX_COMPARED_SCALE = 6
_FLOATS = ("float", "double")
ROUNDINGS = frozenset({"round_half_up", "round_half_even", "round_up", "round_down"})


def is_proven(call: Call) -> bool:
    """Whether Braid evaluates an operation on decimals exactly as Spark does."""
    if call.function == "cast":
        return _proven_cast(call.arguments[0].type, call.type, call.ansi)
    if call.function in ("negate", "abs"):
        return decimal_digits(call.type) == decimal_digits(call.arguments[0].type)
    if call.function in ROUNDINGS:
        return never_overflows(call)
    (left, left_scale), (right, right_scale) = _digits(call, 0), _digits(call, 1)
    scale = max(left_scale, right_scale)
    longest = max(left - left_scale, right - right_scale) + scale
    if call.function == "multiply":
        return left + right <= MAX_DIGITS
    if call.function == "remainder":
        return longest <= LONGEST_NARROW_DECIMAL
    if call.function == "divide":
        added = quotient_digits(call)
        short = left <= LONGEST_NARROW_DECIMAL and right < LONGEST_NARROW_DECIMAL
        return short and added >= 0 and left + added <= MAX_DIGITS and right <= _FIRST_QUOTIENT_SCALE - _scale(call)
    return longest <= MAX_DIGITS


def never_overflows(call: Call) -> bool:
    """Whether the result of an operation on decimals fits its type, whatever the values."""
    if call.function == "cast":
        return _fits(call.arguments[0].type, call.type)
    if call.function in ("negate", "abs"):
        return _digits(call, 0)[0] <= SIGN_DIGITS
    if call.function == "remainder":
        return True
    if call.function in ROUNDINGS:
        return _fits(call.arguments[0].type, call.type)
    (left, left_scale), (right, right_scale) = _digits(call, 0), _digits(call, 1)
    precision, scale = decimal_digits(call.type) or (0, 0)
    if call.function == "multiply":
        return precision - scale > left - left_scale + right - right_scale
    if call.function == "divide":
        return precision - scale >= left - left_scale + right_scale
    return precision - scale > max(left - left_scale, right - right_scale)


def is_exact(call: Call) -> bool:
    """Whether a cast, sum or difference of decimals or integers has the value that mathematics gives it."""
    if call.function == "cast":
        return never_overflows(call) and _scale(call) >= _scale_of(call.arguments[0].type)
    return never_overflows(call) and _scale(call) >= max(_digits(call, 0)[1], _digits(call, 1)[1])


def quotient_digits(call: Call) -> int:
    """The power of ten that an unscaled dividend is multiplied by."""
    return _scale(call) - _digits(call, 0)[1] + _digits(call, 1)[1]


def _fits(source: str, target: str) -> bool:
    wanted, given = decimal_digits(target), decimal_digits(source)
    if target in _FLOATS:
        return True
    if given is None:
        return wanted is not None and wanted[0] - wanted[1] >= _INTEGER_DIGITS[source]
    before_point = given[0] - given[1]
    if wanted is None:
        return before_point < _INTEGER_DIGITS[target]
    # Rounding may carry into one more digit.
    return wanted[0] - wanted[1] >= before_point + (wanted[1] < given[1])


def _proven_cast(source: str, target: str, ansi: bool) -> bool:
    given = decimal_digits(source)
    if decimal_digits(target):
        return given is not None or source in _INTEGER_DIGITS
    if given is None or target in _FLOATS:
        return target in _FLOATS
    if target not in _INTEGER_DIGITS:
        return False
    compared = given[0] <= LONGEST_NARROW_DECIMAL and given[1] <= _MAX_COMPARED_SCALE and target != "bigint"
    return _fits(source, target) or not ansi or compared


def _digits(call: Call, number: int) -> tuple[int, int]:
    return decimal_digits(call.arguments[number].type) or (0, 0)


def _scale(call: Call) -> int:
    return _scale_of(call.type)


def _scale_of(type: str) -> int:
    return (decimal_digits(type) or (0, 0))[1]
