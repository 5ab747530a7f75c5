"""Every error Braid raises on purpose.

One root, `BraidError`. A message says what was attempted, what was found, what is allowed and what to do;
`detail` carries the evidence (a list of columns, a pointer into an expression) and `hint` the next action.
All of them survive pickling, because tasks raise them on executors.
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
    """A long message of somebody else's, with its beginning and its end, where the cause usually stands."""
    if len(text) <= most:
        return text
    return f"{text[: most // 2]}\n...\n{text[-most // 2 :]}"


def text_of(error: BaseException) -> str:
    """What an exception of somebody else's says, also where its own `__str__` raises."""
    try:
        return str(error)
    except Exception as second:  # whatever a user's class does
        return f"(its text cannot be made: __str__ raised {type(second).__name__})"


def without_stacks(text: str) -> str:
    """A message of the JVM without the places in Java and Scala code that it passed."""
    lines = [line for line in text.splitlines() if not JVM_PLACE.match(line)]
    return "\n".join(lines).strip()


def brief_cause(error: BaseException) -> BaseException | None:
    """The error as the cause of another one, None if it would print a page of the JVM's."""
    return None if JVM_PLACE.search(text_of(error)) else error


class QueryError(BraidError):
    """The query as written cannot mean anything; raised while it is built."""


class MissingMethodError(QueryError, AttributeError):
    """A method or attribute that Spark has and Braid has not, or a misspelt one."""


class UnknownColumnError(QueryError):
    """A name that no stream has."""


class UnknownStreamError(QueryError):
    """A qualifier that is no stream of this join."""


class AmbiguousColumnError(QueryError):
    """A bare name that several streams have."""


class SyntaxProblem(QueryError):
    """An expression Spark's parser refuses; the detail points at the place."""


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
    """A window that cannot be used: of a wrong kind, or not derivable."""


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
    """The storage does not keep a promise that Braid can do without only if the user takes care."""


class StorageError(BraidError):
    """The storage refused an operation: full, read-only, unreachable."""


class PredicateError(BraidError):
    """A predicate or Python function raised while rows were joined."""


class RunFailedError(BraidError):
    """A run ended with an error that is not Braid's own; the cause is chained."""


class WatermarkWarning(UserWarning):
    """A watermark of Spark's on an input of a join, which does not decide which rows are late."""
