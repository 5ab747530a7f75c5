"""Functions of strings by their bytes and characters, as Spark's UTF8String has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from braid.kernels.expressions import logic
from braid.kernels.expressions.characters import cut, equal_bytes, texts_of
from braid.kernels.expressions.levenshtein import levenshtein
from braid.kernels.expressions.vectors import Vector, both_valid
from braid.plan.expressions import Function


def _length(operand: Vector) -> Vector:
    return Vector(texts_of(operand).counts.astype(np.int32), operand.valid)


def _bytes(factor: int) -> Callable[..., Vector]:
    return lambda operand: Vector((texts_of(operand).sizes * factor).astype(np.int32), operand.valid)


def _substring(operand: Vector, position: Vector, length: Vector) -> Vector:
    """Positions count from 1, or from the end if negative; what is outside the string is left out."""
    texts = texts_of(operand)
    at = np.asarray(position.values, np.int64)
    start = np.where(at > 0, at - 1, np.where(at < 0, texts.counts + at, 0))
    stop = start + np.asarray(length.values, np.int64)
    first = texts.byte_of(start)
    valid = both_valid(operand.valid, both_valid(position.valid, length.valid))
    return cut(texts, first, np.maximum(texts.byte_of(stop), first), valid)


def _concatenation(*operands: Vector) -> Vector:
    values = [operand.values for operand in operands]
    if any(pa.types.is_large_string(value.type) for value in values):
        values = [value.cast(pa.large_string()) for value in values]
    separator = pa.scalar("", values[0].type)
    return logic.text_vector(pc.binary_join_element_wise(*values, separator, null_handling="emit_null"))


def _starts_with(operand: Vector, prefix: Vector) -> Vector:
    text, wanted = texts_of(operand), texts_of(prefix)
    fits = text.sizes >= wanted.sizes
    found = fits & equal_bytes(text, text.starts, wanted, np.where(fits, wanted.sizes, 0))
    return Vector(found, both_valid(operand.valid, prefix.valid))


def _ends_with(operand: Vector, suffix: Vector) -> Vector:
    text, wanted = texts_of(operand), texts_of(suffix)
    fits = text.sizes >= wanted.sizes
    found = fits & equal_bytes(
        text, text.stops - np.where(fits, wanted.sizes, 0), wanted, np.where(fits, wanted.sizes, 0)
    )
    return Vector(found, both_valid(operand.valid, suffix.valid))


def _contains(operand: Vector, part: Vector) -> Vector:
    """Whether a literal is a part of strings."""
    if not part.values.is_valid:
        return Vector(np.zeros(1, np.bool_), np.zeros(1, np.bool_))
    found = logic.as_mask(pc.match_substring(operand.values, part.values.as_py()))
    return Vector(found, operand.valid)


def _by_arrow(function: Callable[..., Any], **options: Any) -> Callable[..., Vector]:
    return lambda operand: Vector(function(operand.values, **options), operand.valid)


def _is_ascii(operand: Vector) -> Vector:
    return Vector(logic.as_mask(pc.string_is_ascii(operand.values)), operand.valid)


FUNCTIONS: Mapping[Function, Callable[..., Vector]] = {
    "length": _length,
    "octet_length": _bytes(1),
    "bit_length": _bytes(8),
    "substring": _substring,
    "concat": _concatenation,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "contains": _contains,
    "trim": _by_arrow(pc.ascii_trim, characters=" "),
    "trim_left": _by_arrow(pc.ascii_ltrim, characters=" "),
    "trim_right": _by_arrow(pc.ascii_rtrim, characters=" "),
    "ascii_lower": _by_arrow(pc.ascii_lower),
    "ascii_upper": _by_arrow(pc.ascii_upper),
    "is_ascii": _is_ascii,
    "levenshtein": levenshtein,
}
