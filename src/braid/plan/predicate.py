"""Predicates and selections after analysis: conjuncts, key sides, Python functions, outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from braid.plan.expressions import Column, Expression


@dataclass(frozen=True)
class Side:
    """One side of an equality: an expression over a single stream, already cast to the common type."""

    sql: str
    columns: tuple[Column, ...]
    expression: Expression | None
    type: str
    raises: bool

    @property
    def stream(self) -> int:
        return self.columns[0].stream


@dataclass(frozen=True)
class Equality:
    """`left = right`, or `left <=> right` when `null_safe`; the sides read one stream each, two different ones."""

    left: Side
    right: Side
    null_safe: bool


@dataclass(frozen=True)
class PythonPredicate:
    """A vectorised Python function over candidate pairs; restarts compare its `version`, if given, else its code."""

    function: Callable[..., Any]
    columns: tuple[str, ...]
    name: str
    selectivity: float | None
    cost: float | None
    version: str | None = None


@dataclass(frozen=True)
class Conjunct:
    """One term of the join condition's conjunction.

    `sql` reads flat columns (`` `stream.column` ``). `expression` is its equivalent for Braid's own evaluator, or None
    when only the JVM may evaluate it; `jvm_reason` then says why, if that is not the kind of its parts. `possible` is
    then, if not None, true for every pair for which the conjunct may be: the others need no JVM. `implied` adds to the
    ranges of `expression`, or replaces it there: comparisons that are true wherever the conjunct is. `function` is set
    for Python predicates; then `sql` is only a description. `registered`: it calls a Python function registered with
    Spark, which Spark evaluates on all rows of a stage, whatever other conditions say.
    """

    written: str
    sql: str
    columns: tuple[Column, ...]
    expression: Expression | None
    raises: bool
    equality: Equality | None = None
    function: PythonPredicate | None = None
    jvm_reason: str = ""
    implied: Expression | None = None
    possible: Expression | None = None
    registered: bool = False

    @property
    def streams(self) -> frozenset[int]:
        return frozenset(column.stream for column in self.columns)

    @property
    def in_jvm(self) -> bool:
        """Whether only Spark's JVM can evaluate it."""
        return self.expression is None and self.function is None


@dataclass(frozen=True)
class Output:
    """One selected column: its name, its SQL over flat columns, and its type as Spark's JSON.

    `expression` lets Braid compute it without the JVM; so does `fields`, for a struct of plain columns.
    """

    name: str
    sql: str
    columns: tuple[Column, ...]
    expression: Expression | None
    type_json: str
    fields: tuple[tuple[str, Column], ...] | None = None
