"""Which pair made an expression raise: the first one, found by bisection, with the values that the expression read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from braid.errors import PredicateError
from braid.kernels.readable import shown
from braid.kernels.rows import Pairs
from braid.plan.predicate import Conjunct, Output

MAX_CALLS = 40
"""More than bisecting a piece of pairs needs. Each call halves the pairs, so all together cost about one more call."""
MAX_TEXT = 500
ANONYMOUS = "A predicate"

Evaluate = Callable[[Pairs], Any]


def blamed(conjunct: Conjunct, pairs: Pairs, error: PredicateError, evaluate: Evaluate) -> PredicateError:
    """The error with the name of the predicate and the first pair that raises it."""
    name, columns = f"The predicate {_brief(conjunct.written)}", [column.name for column in conjunct.columns]
    if conjunct.function is not None and error.__cause__ is None:
        return PredicateError(error.message.replace(ANONYMOUS, name, 1), error.detail, error.hint)
    return _located(name, columns, pairs, error, evaluate)


def blamed_output(output: Output, pairs: Pairs, error: PredicateError, evaluate: Evaluate) -> PredicateError:
    """The error with the name of the selected column and the first pair that raises it."""
    defined = PredicateError(
        error.message, "\n".join(text for text in (f"It is {output.sql}.", error.detail) if text), error.hint
    )
    columns = [column.name for column in output.columns]
    return _located(f"The selected column {output.name}", columns, pairs, defined, evaluate)


def _located(name: str, columns: list[str], pairs: Pairs, error: PredicateError, evaluate: Evaluate) -> PredicateError:
    message = error.message.replace(ANONYMOUS, name, 1)
    place, alone = _first_failing(pairs, evaluate)
    if alone is None:
        where = f"No single pair raises; the first of {pairs.length} evaluated together"
    else:
        where = "The first pair that raises"
        message = alone.message.replace(ANONYMOUS, name, 1)
    values = values_of(columns, pairs, place)
    found = PredicateError(
        message, "\n".join(text for text in (f"{where}: {values}.", error.detail) if text), error.hint
    )
    found.__cause__ = (alone or error).__cause__
    return found


def values_of(names: Iterable[str], pairs: Pairs, place: int) -> str:
    """The values of some columns of one pair."""
    one = _part(pairs, place, place + 1)
    return ", ".join(f"{name} = {shown(one.array(name)[0])}" for name in dict.fromkeys(names))


def _first_failing(pairs: Pairs, evaluate: Evaluate) -> tuple[int, PredicateError | None]:
    """The first pair that raises and what it raises; pair 0 and None if no single pair does."""
    low, high, calls = 0, pairs.length, 0
    while high - low > 1 and calls < MAX_CALLS:
        middle, calls = (low + high) // 2, calls + 1
        low, high = (middle, high) if _raised(pairs, low, middle, evaluate) is None else (low, middle)
    alone = _raised(pairs, low, low + 1, evaluate) if high - low == 1 else None
    return (0, None) if alone is None else (low, alone)


def _raised(pairs: Pairs, start: int, stop: int, evaluate: Evaluate) -> PredicateError | None:
    try:
        evaluate(_part(pairs, start, stop))
    except PredicateError as error:
        return error
    return None


def _part(pairs: Pairs, start: int, stop: int) -> Pairs:
    return Pairs(pairs.left, pairs.right, pairs.left_positions[start:stop], pairs.right_positions[start:stop])


def _brief(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"
