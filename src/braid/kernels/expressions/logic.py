"""Three-valued logic and comparisons with Spark's order: NaN equals itself and exceeds everything."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.expressions import wide_integers
from braid.kernels.expressions.vectors import Array, Mask, Vector, both_valid, is_wide, magnitude

# Below this many literals, one comparison each is cheaper than building a set.
_FEW_LITERALS = 8

_COMPARISONS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "eq": (np.equal, pc.equal),
    "lt": (np.less, pc.less),
    "le": (np.less_equal, pc.less_equal),
    "gt": (np.greater, pc.greater),
    "ge": (np.greater_equal, pc.greater_equal),
}
_WITH_NAN: dict[str, Callable[[Mask, Mask], Mask]] = {
    "eq": lambda left, right: left & right,
    "lt": lambda left, right: right & ~left,
    "le": lambda left, right: right,
    "gt": lambda left, right: left & ~right,
    "ge": lambda left, right: left,
}


def compare(name: str, left: Vector, right: Vector) -> Vector:
    """One of the comparisons `eq`, `lt`, `le`, `gt`, `ge`."""
    numeric, textual = _COMPARISONS[name]
    valid = both_valid(left.valid, right.valid)
    if is_text(left) or is_text(right):
        return Vector(as_mask(textual(left.values, right.values)), valid)
    if is_wide(left.values) or is_wide(right.values):
        return Vector(_compare_wide(name, left, right), valid)
    result = numeric(left.values, right.values)
    if left.beyond is not None or right.beyond is not None:
        mine, theirs = (np.int8(0) if side.beyond is None else side.beyond for side in (left, right))
        return Vector(np.where(mine == theirs, result, numeric(mine, theirs)), valid)
    if left.values.dtype.kind == "f" and math.inf in (magnitude(left), magnitude(right)):
        result = _correct_nan(name, result, np.isnan(left.values), np.isnan(right.values))
    return Vector(result, valid)


def equal_null_safe(left: Vector, right: Vector) -> Vector:
    result = compare("eq", left, right).values
    if left.valid is None and right.valid is None:
        return Vector(result)
    left_valid, right_valid = mask_of(left), mask_of(right)
    return Vector((result & left_valid & right_valid) | ~(left_valid | right_valid))


def conjunction(left: Vector, right: Vector) -> Vector:
    result = left.values & right.values
    if left.valid is None and right.valid is None:
        return Vector(result)
    return Vector(result, both_known(left, right) | known_as(left, False) | known_as(right, False))


def disjunction(left: Vector, right: Vector) -> Vector:
    result = left.values | right.values
    if left.valid is None and right.valid is None:
        return Vector(result)
    true = known_as(left, True) | known_as(right, True)
    return Vector(true, both_known(left, right) | true)


def member(value: Vector, items: Sequence[Vector]) -> Vector:
    """SQL's IN: NULL when nothing matches and a compared value is NULL."""
    result = _member_of_set(value, items) if len(items) > _FEW_LITERALS else None
    if result is not None:
        return result
    found = compare("eq", value, items[0])
    for item in items[1:]:
        found = disjunction(found, compare("eq", value, item))
    return found


def known_as(vector: Vector, truth: bool) -> Any:
    """Where a boolean is certainly true, or certainly false."""
    hit = vector.values if truth else ~vector.values
    return hit if vector.valid is None else hit & vector.valid


def unless(vector: Vector, truth: bool) -> Any:
    """Where a boolean is NULL or the other truth value."""
    other = ~vector.values if truth else vector.values
    return other if vector.valid is None else other | ~vector.valid


def both_known(left: Vector, right: Vector) -> Any:
    valid = both_valid(left.valid, right.valid)
    return np.True_ if valid is None else valid


def mask_of(vector: Vector) -> Any:
    """Where a vector is not NULL, also for a vector without NULLs."""
    return np.True_ if vector.valid is None else vector.valid


def is_text(vector: Vector) -> bool:
    return isinstance(vector.values, pa.Array | pa.Scalar)


def chosen(taken: Mask, left: Vector, right: Vector) -> Vector:
    """The values of the left vector where `taken` is true, of the right one elsewhere."""
    if is_text(left) or is_text(right):
        condition = pa.scalar(bool(taken)) if taken.ndim == 0 else pa.array(taken)
        return text_vector(pc.if_else(condition, left.values, right.values))
    valid = None
    if left.valid is not None or right.valid is not None:
        valid = np.where(taken, mask_of(left), mask_of(right))
    return Vector(np.where(taken, *wide_integers.alike(left, right)), valid)


def text_vector(values: pa.Array | pa.Scalar) -> Vector:
    """Strings or binaries that Arrow computed, with their NULLs."""
    if isinstance(values, pa.Scalar):
        return Vector(values, None if values.is_valid else np.asarray(False))
    return Vector(values, None if values.null_count == 0 else values.is_valid().to_numpy(zero_copy_only=False))


def as_mask(result: Any) -> Array:
    """A boolean Arrow result as NumPy, false where NULL."""
    if isinstance(result, pa.Scalar):
        return np.asarray(bool(result.as_py()))
    filled = result.fill_null(False) if result.null_count else result
    mask: Array = filled.to_numpy(zero_copy_only=False)
    return mask


def _compare_wide(name: str, left: Vector, right: Vector) -> Mask:
    one, two = (wide_integers.words_of(side.values) for side in (left, right))
    if name == "eq":
        return wide_integers.equal(one, two)
    if name in ("gt", "le"):
        one, two = two, one
    found = wide_integers.less(one, two)
    return found if name in ("lt", "gt") else ~found


def _correct_nan(name: str, result: Any, left: Any, right: Any) -> Any:
    if not (left.any() or right.any()):
        return result
    return result | _WITH_NAN[name](left, right)


def _member_of_set(value: Vector, items: Sequence[Vector]) -> Vector | None:
    # NaN is equal to itself here but not in a NumPy set, and only literals have no dimension.
    if is_text(value) or value.values.dtype.kind == "f" or any(np.ndim(item.values) for item in items):
        return None
    if any(is_wide(vector.values) for vector in (value, *items)):
        return None
    known = [item.values for item in items if item.valid is None]
    found = np.isin(value.values, known)
    if len(known) == len(items):
        return Vector(found, value.valid)
    return Vector(found, found & mask_of(value))
