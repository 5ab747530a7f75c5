"""Sizes in bytes, as a user reads them."""

from __future__ import annotations

UNITS = ("b", "k", "m", "g", "t")
STEP = 1024


def format_bytes(size: int) -> str:
    """A number of bytes, as `.memory` and Spark's settings take it, with at most one decimal: 512m, 1.5g."""
    amount, unit = float(size), UNITS[0]
    for larger in UNITS[1:]:
        if abs(amount) < STEP:
            break
        amount, unit = amount / STEP, larger
    return f"{amount:.1f}".removesuffix(".0") + unit
