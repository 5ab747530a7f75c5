"""Predicates and selections, checked and typed by Spark's own parser and analyzer before anything runs.

Expressions are rewritten to flat column names and resolved on an empty DataFrame that has those columns.
Every mistake is raised here, as one of Braid's errors, while the query is built.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, TypeAlias

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from braid.errors import (
    NondeterministicError,
    PredicateTypeError,
    QueryError,
    SyntaxProblem,
    UnknownStreamError,
    UnsupportedExpressionError,
)
from braid.plan.expressions import Column, Constant
from braid.plan.predicate import Conjunct, Equality, Output, PythonPredicate, Side
from braid.runtime import splitting
from braid.runtime.catalyst import Node, quiet
from braid.runtime.raising import may_raise
from braid.runtime.references import RESULT_TIME, AnalyzedStream, Names, Resolved, quote, references, rewrite
from braid.runtime.translate import Zone, translate

__all__ = ["AnalyzedStream", "Analyzer"]

Place: TypeAlias = Literal["predicate", "selection", "Python predicate"]

_SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "InSubquery", "LateralSubquery"})
_CLOCKS = frozenset({"CurrentTimestamp", "Now", "CurrentDate", "LocalTimestamp", "CurrentTime"})
_MULTI_ROW = {"Aggregate": "an aggregate", "Window": "a window function", "Generate": "a generator"}
_MESSAGE = re.compile(r"\s*(?:\[[\w.]+\]\s*)?(.*?)\s*(?:SQLSTATE:|;|$)", re.DOTALL)


@dataclass(frozen=True)
class _Expression:
    """An expression after analysis: as written, over flat columns, and resolved."""

    written: str
    sql: str
    parsed: Node
    references: tuple[Resolved, ...]
    resolved: Node
    name: str

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(one.column for one in self.references))


class Analyzer:
    """Turns the texts of a query into conjuncts and outputs over the given streams."""

    def __init__(self, spark: SparkSession, streams: Sequence[AnalyzedStream]) -> None:
        self._spark = spark
        self._streams = tuple(streams)
        self._parser: Any = spark._jsparkSession.sessionState().sqlParser()
        self._names = Names(streams, spark.conf.get("spark.sql.caseSensitive") == "true")
        self._zone = _session_zone(spark)
        self._empty = self._empty_frame()

    def predicate(self, text: str) -> tuple[Conjunct, ...]:
        """The conjuncts of a boolean SQL expression, in the order written."""
        whole = self._parse(text, "predicate")
        self._refuse_alias(whole, text)
        self._analyze(text.strip(), "predicate")
        return tuple(self._conjunct(piece) for piece in self._split(text, whole))

    def python_predicate(
        self,
        function: Callable[..., Any],
        columns: Sequence[str],
        selectivity: float | None = None,
        cost: float | None = None,
    ) -> Conjunct:
        """A Python function of whole columns as a conjunct."""
        resolved = tuple(self._plain_column(text) for text in columns)
        name = getattr(function, "__name__", type(function).__name__)
        flat = tuple(column.name for column in resolved)
        predicate = PythonPredicate(function, flat, name, selectivity, cost)
        written = f"{name}({', '.join(columns)})"
        return Conjunct(written, written, tuple(dict.fromkeys(resolved)), None, True, function=predicate)

    def selection(self, expressions: Sequence[str]) -> tuple[Output, ...]:
        """The outputs of selected expressions, stars expanded."""
        if not expressions:
            raise QueryError(
                "A selection without expressions was given.",
                "At least one is needed.",
                "leave .select out for one struct column per stream.",
            )
        outputs = tuple(output for text in expressions for output in self._outputs(text))
        _refuse_duplicates(outputs)
        return outputs

    def default_selection(self) -> tuple[Output, ...]:
        """One struct column per stream, named after it, and the result time."""
        structs = (self._struct(index, stream) for index, stream in enumerate(self._streams))
        outputs = (*structs, *self._outputs(RESULT_TIME))
        _refuse_duplicates(outputs)
        return outputs

    def _conjunct(self, text: str) -> Conjunct:
        analyzed = self._analyze(text, "predicate")
        type = analyzed.resolved.type
        if type == "void":
            return Conjunct(text, "CAST(NULL AS BOOLEAN)", (), Constant(None, "boolean"), False)
        if type != "boolean":
            raise PredicateTypeError(
                f"The predicate {text} has type {type}, not boolean.",
                "A predicate is a condition: true, false or NULL for each pair of rows.",
                "compare it with something, as in o.a = q.b.",
            )
        return Conjunct(
            written=text,
            sql=analyzed.sql,
            columns=analyzed.columns,
            expression=translate(analyzed.resolved, self._names.by_flat_name, self._zone),
            raises=may_raise(analyzed.resolved),
            equality=self._equality(analyzed),
        )

    def _split(self, text: str, whole: Node) -> tuple[str, ...]:
        """The conjuncts' texts, or the whole when the cut is not what Spark's parser understood."""
        pieces = splitting.conjuncts(text)
        leaves = list(_leaves(whole))
        try:
            cut = [leaf for piece in pieces for leaf in _leaves(self._parse(piece, "predicate"))]
        except SyntaxProblem:
            return (text.strip(),)
        same = len(cut) == len(leaves) and all(a.java.equals(b.java) for a, b in zip(cut, leaves, strict=True))
        return pieces if same else (text.strip(),)

    def _equality(self, analyzed: _Expression) -> Equality | None:
        root = analyzed.resolved
        if root.kind not in ("EqualTo", "EqualNullSafe") or analyzed.parsed.kind != root.kind:
            return None
        texts = splitting.equality_sides(analyzed.written)
        if texts is None or " collate " in root.children[0].type:
            return None
        sides = [self._side(text, *pair) for text, *pair in zip(texts, analyzed.parsed.children, root.children, strict=True)]
        left, right = sides
        if left is None or right is None or left.stream == right.stream:
            return None
        return Equality(left, right, root.kind == "EqualNullSafe")

    def _side(self, text: str, parsed: Node, resolved: Node) -> Side | None:
        """One side of an equality, None unless it is over one stream and its text means the same."""
        try:
            if not self._parse(text, "predicate").java.equals(parsed.java):
                return None
        except SyntaxProblem:
            return None
        analyzed = self._analyze(text, "predicate")
        columns = analyzed.columns
        if len({column.stream for column in columns}) != 1:
            return None
        sql = analyzed.sql
        if analyzed.resolved.type != resolved.type or resolved.type == "interval":
            sql = f"CAST({sql} AS {resolved.java.dataType().sql()})"
        if not self._resolve(sql)[0].java.semanticEquals(resolved.java):
            return None
        expression = translate(resolved, self._names.by_flat_name, self._zone)
        return Side(sql, columns, expression, resolved.type, may_raise(resolved))

    def _outputs(self, text: str) -> Iterator[Output]:
        parsed = self._parse(text, "selection")
        if parsed.kind == "UnresolvedStar":
            for flat in self._star(parsed, text):
                yield from self._outputs(flat)
            return
        if parsed.kind == "MultiAlias":
            _unsupported(text, "selection", "several names for one expression")
        alias = str(parsed.java.name()) if parsed.kind == "Alias" else None
        analyzed = self._analyze(self._unaliased(text, parsed), "selection")
        yield self._output(analyzed, alias or _output_name(analyzed))

    def _output(self, analyzed: _Expression, name: str) -> Output:
        type_json = str(analyzed.resolved.java.dataType().json())
        expression = translate(analyzed.resolved, self._names.by_flat_name, self._zone)
        if analyzed.resolved.kind == "AttributeReference":
            expression = self._names.by_flat_name[str(analyzed.resolved.java.name())]
        return Output(name, analyzed.sql, analyzed.columns, expression, type_json)

    def _unaliased(self, text: str, parsed: Node) -> str:
        if parsed.kind != "Alias":
            return text.strip()
        stripped = splitting.without_alias(text)
        try:
            same = self._parse(stripped, "selection").java.equals(parsed.children[0].java)
        except SyntaxProblem:
            return text.strip()
        return stripped if same else text.strip()

    def _star(self, parsed: Node, text: str) -> Iterator[str]:
        """The columns of `*` or `stream.*`, as texts."""
        target = parsed.java.target()
        wanted = range(len(self._streams))
        if target.isDefined():
            name = str(target.get().mkString("."))
            index = self._names.stream_index(name)
            if index is None:
                raise UnknownStreamError(
                    f"The selection has {text.strip()}, but {name} is no stream of this join.",
                    f"Streams: {', '.join(self._names.streams)}.",
                    "write * or stream.* with one of them.",
                )
            wanted = range(index, index + 1)
        for index in wanted:
            for column in self._names.by_stream[index]:
                yield f"{quote(self._names.streams[index])}.{quote(column)}"

    def _struct(self, index: int, stream: AnalyzedStream) -> Output:
        columns = self._names.by_stream[index]
        fields = ", ".join(f"'{_escape(name)}', {quote(column.name)}" for name, column in columns.items())
        sql = f"named_struct({fields})"
        resolved, _ = self._resolve(sql)
        return Output(stream.name, sql, tuple(columns.values()), None, str(resolved.java.dataType().json()))

    def _plain_column(self, text: str) -> Column:
        parsed = self._parse(text, "Python predicate")
        found = tuple(references(parsed))
        if parsed.kind != "UnresolvedAttribute":
            raise QueryError(
                f"The Python predicate takes {text.strip()}, which is not a plain column.",
                "Its arguments are columns: stream.column, or a bare name that one stream has.",
                "compute the expression in the stream's DataFrame and pass that column.",
            )
        resolved = self._names.resolve(found[0], "Python predicate")
        if resolved is None or resolved.fields:
            raise QueryError(
                f"The Python predicate takes {text.strip()}, which is not a whole column.",
                "Its arguments are columns: stream.column, or a bare name that one stream has.",
                "pass the struct column, and take the field out in the function.",
            )
        return resolved.column

    def _analyze(self, text: str, place: Place) -> _Expression:
        parsed = self._parse(text, place)
        _refuse_parsed(parsed, text, place)
        found = (self._names.resolve(reference, place) for reference in references(parsed))
        resolved = tuple(one for one in found if one is not None)
        sql = rewrite(text, resolved)
        node, name = self._resolve(sql, text, place)
        _refuse_changing(node, text, place)
        return _Expression(text, sql, parsed, resolved, node, name)

    def _resolve(self, sql: str, written: str = "", place: Place = "predicate") -> tuple[Node, str]:
        """The resolved tree of an expression over flat columns, and the name Spark gives it."""
        try:
            with quiet():
                frame = self._empty.selectExpr(sql)
        except AnalysisException as error:
            raise QueryError(
                f"The {place} {written} cannot be resolved: {_spark_message(error)}",
                f"Read as: {sql}",
                "change the expression so that Spark accepts its functions and types.",
            ) from None
        plan = frame._jdf.queryExecution().analyzed()
        _refuse_plan(Node(plan), written, place)
        root = Node(plan.expressions().apply(0))
        return (root.children[0] if root.kind == "Alias" else root), frame.columns[0]

    def _parse(self, text: str, place: Place) -> Node:
        if not text.strip():
            raise SyntaxProblem(f"The {place} is empty.", "A Spark SQL expression is needed.", "write one, as in o.a = q.b.")
        try:
            with quiet():
                return Node(self._parser.parseExpression(text))
        except ParseException as error:
            raise SyntaxProblem(
                f"The {place} cannot be parsed: {_spark_message(error)}",
                _pointer(text, error),
                "correct the Spark SQL at the caret.",
            ) from None

    def _refuse_alias(self, parsed: Node, text: str) -> None:
        if parsed.kind in ("Alias", "MultiAlias") and splitting.without_alias(text) != text:
            raise SyntaxProblem(
                f"The predicate {text.strip()} ends with a name, {parsed.java.name()}.",
                "Only selected expressions have names.",
                "remove it, or add the operator that is missing before it.",
            )

    def _empty_frame(self) -> DataFrame:
        fields = [
            {"name": f"{stream.name}.{field.name}", "type": field.dataType.jsonValue(), "nullable": True, "metadata": {}}
            for stream in self._streams
            for field in stream.schema.fields
        ]
        fields.append({"name": RESULT_TIME, "type": self._names.result_time.type, "nullable": True, "metadata": {}})
        return _empty(self._spark, fields)
