"""`braid.udf`: a Python predicate over columns of the streams."""

from __future__ import annotations

import math
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
    raises: bool = True


def udf(
    function: Callable[..., Any],
    *columns: str,
    selectivity: float | None = None,
    cost: float | None = None,
    raises: bool = True,
    version: str | int | None = None,
) -> Udf:
    """A predicate in Python.

    `function` receives one `pyarrow.Array` per column, all of the length of the candidate pairs, and returns a boolean
    Arrow or NumPy array of that length. `selectivity`, the share of pairs that pass, and `cost`, seconds a pair, are
    first guesses of the optimizer, until both have been measured.

    A function may raise for pairs that another condition excludes, so it is called after every condition that cannot
    raise and after those written before it. With `raises=False` you promise that it does not raise for any pair: then
    it is called as soon as its streams are joined, and cheap selective functions come before expensive ones. If it
    raises all the same, the run fails.

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
    _require_share(selectivity)
    _require_seconds(cost)
    if not isinstance(raises, bool):
        raise QueryError(f"braid.udf(raises=...) is True or False, but got {raises!r}.")
    if version is not None and (type(version) not in (str, int) or version == ""):
        raise QueryError(
            f"The version of braid.udf is a text or a number, but got {version!r}.",
            hint='For example braid.udf(near, "a.x", "b.x", version="2").',
        )
    return Udf(function, columns, selectivity, cost, None if version is None else str(version), raises)


def _require_share(selectivity: object) -> None:
    if selectivity is not None and not (_is_number(selectivity) and 0 <= float(str(selectivity)) <= 1):
        raise QueryError(
            f"braid.udf(selectivity=...) is the share of pairs that pass, from 0 to 1, but got {selectivity!r}.",
            hint="Leave it out if you do not know it: it is measured.",
        )


def _require_seconds(cost: object) -> None:
    if cost is not None and not (_is_number(cost) and 0 <= float(str(cost)) < math.inf):
        raise QueryError(
            f"braid.udf(cost=...) is the time of a pair in seconds, such as 5e-5, but got {cost!r}.",
            hint="Leave it out if you do not know it: it is measured.",
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
