"""Every error Braid raises on purpose.

One root, `BraidError`. A message says what was attempted, what was found, what is allowed and what to do. `detail` has
the evidence (a list of columns, a position in an expression) and `hint` the next action. All errors can be pickled,
because tasks raise them on executors.
"""

from __future__ import annotations

import re

JVM_PLACE = re.compile(
    r"^\s*(at [\w.$/<>]+\(.*\)|\.\.\. \d+ more|Driver stacktrace:|JVM stacktrace:)\s*$", re.MULTILINE
)


class BraidError(Exception):
    """The root of every error raised on purpose."""

    def __init__(self, message: str, detail: str = "", hint: str = "") -> None:
        super().__init__(message, detail, hint)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(self.detail)
        if self.hint:
            lines.append(f"Hint: {self.hint}")
        return "\n".join(lines)


def shortened(text: str, most: int = 4000) -> str:
    """A long message reduced to its beginning and its end, where the cause usually is."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n...\n{text[-most // 2 :]}"


def text_of(error: BaseException) -> str:
    """The text of any exception, even if its `__str__` raises."""
    try:
        return str(error)
    except Exception as second:  # a user's class may raise anything
        return f"(its text cannot be made: __str__ raised {type(second).__name__})"


def without_stacks(text: str) -> str:
    """A message of the JVM without the lines of its stack traces."""
    lines = [line for line in text.splitlines() if not JVM_PLACE.match(line)]
    return "\n".join(lines).strip()


def brief_cause(error: BaseException) -> BaseException | None:
    """The error as the cause of another one; None if it would print a stack trace of the JVM."""
    return None if JVM_PLACE.search(text_of(error)) else error


class QueryError(BraidError):
    """The query is invalid as written; raised while it is built."""


class MissingMethodError(QueryError, AttributeError):
    """A method or attribute that Spark has but Braid does not, or a misspelt one."""


class UnknownColumnError(QueryError):
    """A name that no stream has."""


class UnknownStreamError(QueryError):
    """A qualifier that is not a stream of this join."""


class AmbiguousColumnError(QueryError):
    """A bare name that several streams have."""


class SyntaxProblem(QueryError):
    """An expression that Spark's parser rejects; the detail points at the position."""


class PredicateTypeError(QueryError):
    """A predicate that is not boolean."""


class NondeterministicError(QueryError):
    """An expression whose value may differ between two evaluations."""


class UnsupportedExpressionError(QueryError):
    """A subquery, aggregate, window function or generator where a row expression is needed."""


class DurationError(QueryError):
    """A duration that cannot be read, or that is negative."""


class StreamError(QueryError):
    """A stream that cannot be joined: names, time column, column types."""


class WindowError(QueryError):
    """A window that cannot be used: wrong kind, or not derivable."""


class StrategyError(QueryError):
    """A strategy that cannot run this query."""


class SinkError(BraidError):
    """A writer that cannot start: format, options, output mode."""


class UnsupportedSessionError(BraidError):
    """The Spark session or the storage cannot run Braid."""


class RestartError(BraidError):
    """The checkpoint belongs to a query that differs from this one."""


class RecoveryError(BraidError):
    """The checkpoint and Spark's own log disagree."""


class StepCommittedError(RecoveryError):
    """Another run has committed the step first."""


class TakenOverError(BraidError):
    """A newer run has claimed the checkpoint; this one has stopped."""


class CorruptStateError(BraidError):
    """A state file that is missing, truncated or fails its checksum."""


class StorageWarning(UserWarning):
    """The storage lacks a guarantee; without it Braid is correct only if the user takes care."""


class StorageError(BraidError):
    """The storage refused an operation: full, read-only, unreachable."""


class PredicateError(BraidError):
    """A predicate or Python function raised while rows were joined."""


class RunFailedError(BraidError):
    """A run ended with an error of another library; the cause is chained."""


class WatermarkWarning(UserWarning):
    """An input of a join has a Spark watermark, which does not decide which rows are late."""
