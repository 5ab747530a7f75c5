"""Values as a person reads them: any bytes, any time, and no more than a line of them.

A string of Spark's may hold bytes that are no UTF-8, and times that Python has no type for; naming a value never fails.
"""

from __future__ import annotations

import pyarrow as pa

from braid.plan.instants import iso_time

MOST_TEXT = 60


def readable(value: pa.Scalar) -> str:
    """The text of one value; bytes that are no UTF-8 appear as `\\xff`."""
    if not value.is_valid:
        return "None"
    kind = value.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return _decoded(value)
    if pa.types.is_struct(kind):
        return "{" + ", ".join(f"{name}: {readable(item)}" for name, item in value.items()) + "}"
    if pa.types.is_map(kind):
        pairs = ((entry["key"], entry["value"]) for entry in value.values)
        return "{" + ", ".join(f"{readable(key)}: {readable(item)}" for key, item in pairs) + "}"
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return "[" + ", ".join(readable(item) for item in value.values) + "]"
    try:
        return str(value.as_py())
    except (ValueError, OverflowError):  # a time before the year 1 or after 9999
        return str(iso_time(value.value)) if pa.types.is_timestamp(kind) else f"{value.type} out of range"


def shown(value: pa.Scalar) -> str:
    """The same in quotes where it is text, cut where it is long, and NULL where it is absent."""
    if not value.is_valid:
        return "NULL"
    kind = value.type
    text = cut(readable(value))
    return f"'{text}'" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else text


def cut(text: str) -> str:
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def _decoded(value: pa.Scalar) -> str:
    # A character has at most four bytes; what is cut off later need not be decoded.
    data = bytes(memoryview(value.as_buffer())[: 4 * MOST_TEXT + 4])
    return data.decode("utf-8", "backslashreplace")
