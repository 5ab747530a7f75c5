"""Column references of an expression: found by Spark's parser, resolved to streams, rewritten to flat names.

The flat name of column c of stream s is `s.c`, in the spelling of the stream and of its schema. Positions
come from the parser's own attribute nodes, in code points.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql.types import StructType

from braid.analysis.catalyst import Node, braid_type
from braid.errors import AmbiguousColumnError, QueryError, UnknownColumnError, UnknownStreamError
from braid.plan.expressions import Column

RESULT_TIME = "result_time"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Bare names that Spark reads as functions when no column has them.
_KEYWORD_FUNCTIONS = frozenset(
    {"current_date", "current_timestamp", "current_time", "localtimestamp", "current_user", "session_user", "user"}
)


@dataclass(frozen=True)
class AnalyzedStream:
    """A stream as the analyzer sees it: its name, its columns and its event-time column."""

    name: str
    schema: StructType
    time: str


@dataclass(frozen=True)
class Reference:
    """A column reference at a place of a text, both ends included."""

    start: int
    stop: int
    parts: tuple[str, ...]

    @property
    def written(self) -> str:
        return ".".join(self.parts)


@dataclass(frozen=True)
class Resolved:
    """A reference, the column it means, and the fields it takes out of that column."""

    reference: Reference
    column: Column
    fields: tuple[str, ...]

    @property
    def sql(self) -> str:
        return ".".join((quote(self.column.name), *(_quote_if_needed(field) for field in self.fields)))


class Names:
    """The columns of the streams, found as Spark finds names."""

    def __init__(self, streams: Sequence[AnalyzedStream], case_sensitive: bool) -> None:
        self.case_sensitive = case_sensitive
        self.streams = tuple(stream.name for stream in streams)
        self.by_stream = tuple(_columns(index, stream) for index, stream in enumerate(streams))
        self.result_time = Column(RESULT_TIME, -1, _result_time_type(streams))
        self.by_flat_name = {
            column.name: column for columns in (*self.by_stream, {"": self.result_time}) for column in columns.values()
        }

    def resolve(self, reference: Reference, place: str) -> Resolved | None:
        """The column a reference means; None for a keyword that Spark reads as a function."""
        first, *rest = reference.parts
        if place == "selection" and not rest and self.same(first, RESULT_TIME):
            return Resolved(reference, self.result_time, ())
        stream = self.stream_index(first)
        if rest and stream is not None:
            return self._in_stream(reference, stream, place)
        found = [column for index in range(len(self.streams)) if (column := self._find(index, first)) is not None]
        if len(found) > 1:
            raise self._ambiguous(reference, found, place)
        if found:
            return Resolved(reference, found[0], tuple(rest))
        if not rest and first.lower() in _KEYWORD_FUNCTIONS:
            return None
        raise self._unknown(reference, place)

    def stream_index(self, name: str) -> int | None:
        return next((index for index, stream in enumerate(self.streams) if self.same(stream, name)), None)

    def same(self, left: str, right: str) -> bool:
        return left == right or (not self.case_sensitive and left.lower() == right.lower())

    def _in_stream(self, reference: Reference, stream: int, place: str) -> Resolved:
        _, name, *fields = reference.parts
        column = self._find(stream, name)
        if column is None:
            known = list(self.by_stream[stream])
            raise UnknownColumnError(
                f"The {place} reads {reference.written}, but stream {self.streams[stream]} has no column {name}.",
                f"Known columns of {self.streams[stream]}: {', '.join(known)}.",
                _closest(name, known, f"{self.streams[stream]}."),
            )
        return Resolved(reference, column, tuple(fields))

    def _find(self, stream: int, name: str) -> Column | None:
        columns = self.by_stream[stream]
        if name in columns:
            return columns[name]
        return next((column for known, column in columns.items() if self.same(known, name)), None)

    def _ambiguous(self, reference: Reference, found: Sequence[Column], place: str) -> QueryError:
        owners = [self.streams[column.stream] for column in found]
        return AmbiguousColumnError(
            f"The {place} reads {reference.written}, which several streams have: {', '.join(owners)}.",
            "A bare column name is allowed where only one stream has it.",
            f"write {owners[0]}.{reference.written} or {owners[1]}.{reference.written}.",
        )

    def _unknown(self, reference: Reference, place: str) -> QueryError:
        if len(reference.parts) > 1:
            return UnknownStreamError(
                f"The {place} reads {reference.written}, but {reference.parts[0]} is no stream of this join.",
                f"Streams: {', '.join(self.streams)}.",
                "qualify a column with one of them; a field of a struct column is written stream.column.field.",
            )
        name = reference.parts[0]
        if self.same(name, RESULT_TIME):
            return UnknownColumnError(
                f"The {place} reads {name}, which exists only in selections.",
                f"Known columns: {', '.join(self._flat_names())}.",
                "compare the event times of the streams instead.",
            )
        return UnknownColumnError(
            f"The {place} reads {name}, but no stream has such a column.",
            f"Known columns: {', '.join(self._flat_names())}.",
            _closest(name, [known for columns in self.by_stream for known in columns], ""),
        )

    def _flat_names(self) -> list[str]:
        return [column.name for columns in self.by_stream for column in columns.values()]


def references(node: Node, parameters: tuple[str, ...] = ()) -> Iterator[Reference]:
    """The column references of a parsed tree; `parameters` are those of the lambdas around it."""
    pending = [(node, parameters)]
    while pending:
        node, parameters = pending.pop()
        if node.kind == "UnresolvedAttribute":
            yield _reference(node)
        elif node.kind == "UnresolvedNamedLambdaVariable":
            reference = _reference(node)
            if reference.parts[0].lower() not in parameters:
                yield reference
        elif node.kind == "LambdaFunction":
            body, *declared = node.children
            names = (_reference(child).parts[0].lower() for child in declared)
            pending.append((body, (*parameters, *names)))
        else:
            pending += [(child, parameters) for child in reversed(node.children)]


def rewrite(text: str, resolved: Sequence[Resolved]) -> str:
    """The text with each reference replaced by its flat name."""
    for one in sorted(resolved, key=lambda item: item.reference.start, reverse=True):
        text = text[: one.reference.start] + one.sql + text[one.reference.stop + 1 :]
    return text


def quote(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _quote_if_needed(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else quote(name)


def _reference(node: Node) -> Reference:
    origin, parts = node.java.origin(), node.java.nameParts()
    names = tuple(str(parts.apply(index)) for index in range(parts.size()))
    return Reference(int(origin.startIndex().get()), int(origin.stopIndex().get()), names)


def _columns(index: int, stream: AnalyzedStream) -> dict[str, Column]:
    return {
        field.name: Column(f"{stream.name}.{field.name}", index, braid_type(field.dataType.simpleString()))
        for field in stream.schema.fields
    }


def _result_time_type(streams: Sequence[AnalyzedStream]) -> str:
    types = {stream.schema[stream.time].dataType.simpleString() for stream in streams}
    return types.pop() if len(types) == 1 else "timestamp"


def _closest(name: str, known: Sequence[str], prefix: str) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {prefix}{close[0]}?" if close else "use one of the known columns."
