"""`braid.udf`: a Python predicate over columns of the streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from braid.errors import QueryError


@dataclass(frozen=True)
class Udf:
    """A vectorised Python predicate and the columns it reads. Made by `braid.udf`."""

    function: Callable[..., Any]
    columns: tuple[str, ...]
    selectivity: float | None
    cost: float | None


def udf(
    function: Callable[..., Any], *columns: str, selectivity: float | None = None, cost: float | None = None
) -> Udf:
    """A predicate in Python.

    `function` receives one `pyarrow.Array` per column, all of the length of the candidate pairs, and returns a
    boolean Arrow or NumPy array of that length. `selectivity` and `cost` (seconds a pair) help the optimizer.
    """
    if not callable(function):
        raise QueryError(f"braid.udf needs a function, but got {function!r}.")
    if not columns:
        raise QueryError(
            "braid.udf needs the columns its function reads.",
            hint='Write for example braid.udf(near, "a.x", "a.y", "b.x", "b.y").',
        )
    return Udf(function, columns, selectivity, cost)
