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
    version: str | None = None


def udf(
    function: Callable[..., Any],
    *columns: str,
    selectivity: float | None = None,
    cost: float | None = None,
    version: str | int | None = None,
) -> Udf:
    """A predicate in Python.

    `function` receives one `pyarrow.Array` per column, all of the length of the candidate pairs, and returns a boolean
    Arrow or NumPy array of that length. `selectivity` and `cost` (seconds a pair) help the optimizer.

    A restart compares the function's code. Where the code changes without a change of meaning, as of a generated
    function, give a `version`: it is compared instead, so change it with the function.
    """
    if not callable(function):
        raise QueryError(f"braid.udf needs a function, but got {function!r}.")
    if not columns:
        raise QueryError(
            "braid.udf needs the columns its function reads.",
            hint='Write for example braid.udf(near, "a.x", "a.y", "b.x", "b.y").',
        )
    if version is not None and (type(version) not in (str, int) or version == ""):
        raise QueryError(
            f"The version of braid.udf is a text or a number, but got {version!r}.",
            hint='For example braid.udf(near, "a.x", "b.x", version="2").',
        )
    return Udf(function, columns, selectivity, cost, None if version is None else str(version))
