"""Values as readable text of at most one line, for messages.

A Spark string may contain bytes that are not UTF-8, and a timestamp may be outside Python's range; this never fails.
"""

from __future__ import annotations

import pyarrow as pa

from braid.plan.instants import iso_time

MAX_TEXT = 60


def readable(value: pa.Scalar) -> str:
    """The text of one value; bytes that are not UTF-8 appear as `\\xff`."""
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
    """The same, but text in quotes, long values cut, and absent ones as NULL."""
    if not value.is_valid:
        return "NULL"
    kind = value.type
    text = cut(readable(value))
    return f"'{text}'" if pa.types.is_string(kind) or pa.types.is_large_string(kind) else text


def cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _decoded(value: pa.Scalar) -> str:
    # A character has at most four bytes; what is cut off later is not decoded.
    data = bytes(memoryview(value.as_buffer())[: 4 * MAX_TEXT + 4])
    return data.decode("utf-8", "backslashreplace")
