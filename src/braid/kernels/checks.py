"""The conjuncts of a lookup, applied in order to candidate pairs: expressions and Python functions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.errors import PredicateError, shortened, text_of
from braid.kernels.blame import blamed
from braid.kernels.expressions.enclosures import PossibleEvaluator
from braid.kernels.expressions.evaluate import Evaluator, is_true
from braid.kernels.rows import Pairs, Positions, Rows
from braid.plan.expressions import Expression
from braid.plan.predicate import Conjunct, PythonPredicate

Mask = npt.NDArray[np.bool_]
Calls = Callable[[Conjunct, Pairs], AbstractContextManager[None]]

MAX_ERROR_TEXT = 1000
FIX_FUNCTION = "Fix the function and start the query again: it continues with the same step."
NOT_TEXT = (
    "A Spark string may contain bytes that are not UTF-8. Let the function work on array.cast(pa.binary()), or exclude "
    "such rows by a condition before it, such as is_valid_utf8(s); then start the query again."
)
CALLS: ContextVar[Calls] = ContextVar("calls", default=lambda conjunct, pairs: nullcontext())
"""The context manager around every call of a user's function."""


@dataclass
class Spent:
    """The pairs that a check was evaluated on, and the seconds; of sampled pairs those that passed.

    What passes among the pairs that other checks have left says little: two checks may exclude the same pairs.
    """

    pairs: int = 0
    seconds: float = 0.0
    sampled: int = 0
    passed: int = 0

    def take(self, other: Spent) -> None:
        """Add what another has counted, which then counts from zero."""
        self.pairs += other.pairs
        self.seconds += other.seconds
        self.sampled += other.sampled
        self.passed += other.passed
        other.pairs, other.seconds, other.sampled, other.passed = 0, 0.0, 0, 0


@dataclass(frozen=True)
class Check:
    """A conjunct prepared for evaluation; without an evaluator it is a Python function.

    One that only the JVM decides is evaluated here as far as it can be: pairs that it may be true for pass.
    """

    conjunct: Conjunct
    evaluator: Evaluator | PossibleEvaluator | None
    spent: Spent = field(default_factory=Spent)

    @property
    def expression(self) -> Expression | None:
        """What the evaluator evaluates."""
        return self.conjunct.possible if self.conjunct.expression is None else self.conjunct.expression


def prepare_checks(conjuncts: Iterable[Conjunct]) -> tuple[Check, ...]:
    return tuple(Check(conjunct, _evaluator(conjunct)) for conjunct in conjuncts)


def _evaluator(conjunct: Conjunct) -> Evaluator | PossibleEvaluator | None:
    if conjunct.expression is not None:
        return Evaluator(conjunct.expression)
    return None if conjunct.possible is None else PossibleEvaluator(conjunct.possible)


def passing(pairs: Pairs, checks: Sequence[Check]) -> Pairs:
    """The pairs that pass every check, each of which sees only the pairs that passed those before it."""
    for check in checks:
        if pairs.length == 0:
            return pairs
        began, before = time.perf_counter(), pairs.length
        pairs = pairs.where(np.broadcast_to(_passed(check, pairs), (pairs.length,)))
        check.spent.pairs += before
        check.spent.seconds += time.perf_counter() - began
    return pairs


def sample_checks(pairs: Pairs, checks: Sequence[Check], most: int) -> int:
    """Evaluate every check that cannot raise on some of the pairs, whatever the others say; returns their number."""
    free = [check for check in checks if not check.conjunct.raises]
    if len(free) < 2 or pairs.length == 0 or most == 0 or all(check.conjunct.function is None for check in free):
        return 0
    chosen = np.unique(np.linspace(0, pairs.length - 1, min(most, pairs.length)).astype(np.int64))
    some = Pairs(pairs.left, pairs.right, pairs.left_positions[chosen], pairs.right_positions[chosen])
    for check in free:
        check.spent.sampled += some.length
        check.spent.passed += int(np.broadcast_to(_passed(check, some), (some.length,)).sum())
    return some.length


def _passed(check: Check, pairs: Pairs) -> Mask:
    """Where a check is true; an error names the check and a pair."""

    def evaluate(some: Pairs) -> Mask:
        return _call(check.conjunct, some) if check.evaluator is None else is_true(check.evaluator(some.vector))

    try:
        return evaluate(pairs)
    except PredicateError as error:
        named = blamed(check.conjunct, pairs, error, evaluate)
        raise named from named.__cause__


def columns_read(checks: Iterable[Check]) -> frozenset[str]:
    """The columns that the checks read."""
    return frozenset(column.name for check in checks for column in check.conjunct.columns)


def passing_rows(rows: Rows, conjuncts: Iterable[Conjunct]) -> Positions:
    """The positions of the rows that pass every conjunct, for rows that have all columns themselves."""
    positions = np.arange(rows.length)
    empty = Rows({}, {}, 0)
    return passing(Pairs(rows, empty, positions, positions), prepare_checks(conjuncts)).left_positions


def _call(conjunct: Conjunct, pairs: Pairs) -> Mask:
    """A Python predicate on candidate pairs. Its result is validated: one boolean per pair."""
    predicate = conjunct.function
    if predicate is None:
        raise RuntimeError(f"nothing here can evaluate {conjunct.sql}")
    arrays = {column.name: pairs.array(column.name) for column in conjunct.columns}
    try:
        with CALLS.get()(conjunct, pairs):
            result = predicate.function(*(arrays[name] for name in predicate.columns))
    except (Exception, SystemExit, KeyboardInterrupt, GeneratorExit) as error:  # all that can be caught here
        # A user's function may raise anything; even what would end the worker is reported as an error.
        text = shortened(text_of(error), MAX_ERROR_TEXT)
        raise PredicateError(
            f"The Python predicate {predicate.name} raised {type(error).__name__}: {text}",
            hint=NOT_TEXT if isinstance(error, UnicodeDecodeError) else FIX_FUNCTION,
        ) from error
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        if not pa.types.is_boolean(result.type):
            raise _wrong(predicate, f"an Arrow array of type {result.type}")
        result = result.fill_null(False).to_numpy(zero_copy_only=False)
    if not isinstance(result, np.ndarray) or result.dtype != np.bool_ or result.ndim != 1:
        raise _wrong(predicate, _describe(result))
    if len(result) != pairs.length:
        raise _wrong(predicate, f"{len(result)} values for {pairs.length} pairs")
    return result


def _describe(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"a NumPy array of type {result.dtype} and {result.ndim} dimensions"
    return f"a {type(result).__name__}"


def _wrong(predicate: PythonPredicate, got: str) -> PredicateError:
    return PredicateError(
        f"The Python predicate {predicate.name} returned {got}.",
        hint="Return a boolean Arrow or NumPy array with one value for each candidate pair.",
    )
