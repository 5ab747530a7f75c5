"""One expression through Spark's parser and analyzer, over flat column names, with Braid's errors.

Expressions are resolved on an empty DataFrame that has every column of every stream under its flat name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal, NoReturn, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, SparkSession

from braid.analysis.catalyst import Node, operands, quiet
from braid.analysis.changing import refuse_changing, refuse_clock_literals
from braid.analysis.offsets import Offsets, local_rules, read_offsets
from braid.analysis.platform import Platform, Zone
from braid.analysis.references import RESULT_TIME, AnalyzedStream, Names, Resolved, references, rewrite
from braid.errors import QueryError, SyntaxProblem, UnsupportedExpressionError
from braid.plan.expressions import Column

Place: TypeAlias = Literal["predicate", "selection", "Python predicate"]

_SUBQUERIES = frozenset({"ScalarSubquery", "Exists", "ListQuery", "InSubquery", "LateralSubquery"})
_MULTI_ROW = {"Aggregate": "an aggregate", "Window": "a window function", "Generate": "a generator"}
# Levels that Spark parses, analyses and evaluates with the default stack of its threads; 500 chained sums pass.
MAX_DEPTH = 400
# 1,000 branches are planned within a heap of 1 GB, 5,000 are not.
MOST_BRANCHES = 1_000
TOO_COMPLEX = "FAILED_TO_PARSE_TOO_COMPLEX"
EXCERPT = 60
_MESSAGE = re.compile(r"\s*(?:\[[\w.]+\]\s*)?(.*?)\s*(?:SQLSTATE:|;\s*line \d+|$)", re.DOTALL)


@dataclass(frozen=True)
class Analyzed:
    """An expression as written, over flat columns, parsed and resolved; `name` is Spark's column name."""

    written: str
    sql: str
    parsed: Node
    references: tuple[Resolved, ...]
    resolved: Node
    name: str

    @property
    def columns(self) -> tuple[Column, ...]:
        return tuple(dict.fromkeys(one.column for one in self.references))


class Resolver:
    """Parses and resolves expressions over the given streams."""

    def __init__(self, spark: SparkSession, streams: Sequence[AnalyzedStream]) -> None:
        self.names = Names(streams, spark.conf.get("spark.sql.caseSensitive") == "true")
        self._spark = spark
        rules = cache(lambda: local_rules(_zone_rules(spark)))
        self.platform = Platform(_session_zone(spark), _java_version(spark), rules)
        self._parser: Any = spark._jsparkSession.sessionState().sqlParser()
        self._empty = _empty_frame(spark, streams, self.names.result_time.type)

    @cached_property
    def offsets(self) -> Offsets | None:
        """The offsets of the session's time zone."""
        return read_offsets(_zone_rules(self._spark))

    def parse(self, text: str, place: Place) -> Node:
        """The tree of a text, before any name is resolved."""
        if not text.strip():
            raise SyntaxProblem(f"The {place} is empty.", "A Spark SQL expression is needed.", "write one: o.a = q.b")
        try:
            with quiet():
                parsed = Node(self._parser.parseExpression(text))
        except Py4JJavaError as error:
            _refuse_complex(text, place, error)
        except ParseException as error:
            if error.getCondition() == TOO_COMPLEX:
                _refuse_complex(text, place, error)
            raise SyntaxProblem(
                f"The {place} cannot be parsed: {_spark_message(error)}",
                _pointer(text, error),
                "correct the Spark SQL at the caret.",
            ) from None
        _refuse_deep(parsed, text, place)
        _refuse_wide(parsed, text, place)
        refuse_clock_literals(parsed, text, place)
        return parsed

    def parses_to(self, text: str, *expected: Node) -> bool:
        """Whether the conjuncts of a text are exactly the expected trees."""
        try:
            found = leaves(self.parse(text, "predicate"))
        except SyntaxProblem:
            return False
        same = (left.java.equals(right.java) for left, right in zip(found, expected, strict=False))
        return len(found) == len(expected) and all(same)

    def analyze(self, text: str, place: Place) -> Analyzed:
        """A text with resolved names and types; raises the errors in it."""
        parsed = self.parse(text, place)
        _refuse_parsed(parsed, text, place)
        # CASE x WHEN … repeats the node of x, at one place of the text.
        found = (self.names.resolve(reference, place) for reference in dict.fromkeys(references(parsed)))
        resolved = tuple(one for one in found if one is not None)
        sql = rewrite(text, resolved)
        node, name = self.resolve(sql, text, place)
        refuse_changing(node, text, place)
        return Analyzed(text, sql, parsed, resolved, node, name)

    def resolve(self, sql: str, written: str, place: Place) -> tuple[Node, str]:
        """The resolved tree of an expression over flat columns, and the name Spark gives it."""
        try:
            with quiet():
                frame = self._empty.selectExpr(sql)
        except AnalysisException as error:
            if str(error.getCondition()).startswith("UNSUPPORTED_GENERATOR"):
                unsupported(written, place, "a generator")
            raise QueryError(
                f"The {place} {written} cannot be resolved: {_spark_message(error)}",
                f"Read as: {sql}",
                "change the expression so that Spark accepts its functions and types.",
            ) from None
        except Py4JJavaError as error:
            _refuse_complex(written, place, error)
        plan = frame._jdf.queryExecution().analyzed()
        _refuse_plan(Node(plan), written, place)
        root = Node(plan.expressions().apply(0))
        return (root.children[0] if root.kind == "Alias" else root), frame.columns[0]

    def aggregate_type(self, function: str, arguments: Sequence[str], written: str) -> str:
        """The type of an aggregate function of expressions over flat columns, as Spark's JSON."""
        names = [f"a{number}" for number in range(len(arguments))]
        inner = [f"{sql} AS {name}" for name, sql in zip(names, arguments, strict=True)]
        try:
            with quiet():
                frame = self._empty.selectExpr(*inner) if inner else self._empty
                return frame.selectExpr(f"{function}({', '.join(names) or '1'})").schema[0].dataType.json()
        except AnalysisException as error:
            raise QueryError(
                f"The aggregate {written} cannot be resolved: {_spark_message(error)}",
                hint="Cast its argument to a type the function takes.",
            ) from None


def excerpt(text: str) -> str:
    """The beginning of a text that may be very long."""
    stripped = " ".join(text.split())
    return stripped if len(stripped) <= EXCERPT else f"{stripped[:EXCERPT]}..."


def leaves(node: Node) -> tuple[Node, ...]:
    """The conjuncts of a parsed tree, in order."""
    return operands(node, "And")


def _refuse_deep(parsed: Node, text: str, place: Place) -> None:
    if parsed.depth > MAX_DEPTH:
        raise UnsupportedExpressionError(
            f"The {place} {excerpt(text)} is nested {parsed.depth} levels deep, and at most {MAX_DEPTH} are possible.",
            "Every operator of a chain such as a + b + c is a level; ANDs, ORs, items of IN, branches of CASE are not.",
            "compute a part of it as a column of a stream's DataFrame.",
        )


def _refuse_wide(parsed: Node, text: str, place: Place) -> None:
    branches = max((len(node.children) // 2 for node in parsed.walk() if node.kind == "CaseWhen"), default=0)
    if branches > MOST_BRANCHES:
        raise UnsupportedExpressionError(
            f"The {place} {excerpt(text)} has a CASE of {branches:,} branches, and at most {MOST_BRANCHES:,} are "
            "possible.",
            "Spark plans every branch several times, and runs out of memory.",
            "join the stream's DataFrame with a table of the cases before the join.",
        )


def _refuse_complex(text: str, place: Place, error: Exception) -> NoReturn:
    """Spark's own limit as a Braid error; any other error of the JVM is unchanged."""
    if isinstance(error, Py4JJavaError) and "StackOverflowError" not in str(error):
        raise error
    raise UnsupportedExpressionError(
        f"The {place} {excerpt(text)} is too complex for Spark: its parser or analyzer ran out of stack.",
        f"It has {len(text):,} characters.",
        "compute a part of it as a column of a stream's DataFrame, or start the driver with a larger stack "
        "(spark.driver.extraJavaOptions=-Xss8m).",
    ) from None


def unsupported(written: str, place: Place, what: str) -> NoReturn:
    raise UnsupportedExpressionError(
        f"The {place} {written} contains {what}.",
        "It must be an expression over one row of each stream.",
        "compute it in a stream's DataFrame before the join, or on the results after it.",
    )


def _refuse_parsed(parsed: Node, text: str, place: Place) -> None:
    for node in parsed.walk():
        if node.kind in _SUBQUERIES:
            unsupported(text, place, "a subquery")
        if node.kind == "WindowExpression":
            unsupported(text, place, "a window function")
        if node.kind.startswith("UnresolvedStar"):
            raise UnsupportedExpressionError(
                f"The {place} {text} contains a star inside an expression.",
                "Only * and stream.* as whole selected expressions stand for columns.",
                "name the columns.",
            )


def _refuse_plan(plan: Node, written: str, place: Place) -> None:
    kinds = [plan.kind, *(child.kind for child in plan.children)]
    for kind in kinds:
        if kind in _MULTI_ROW:
            unsupported(written, place, _MULTI_ROW[kind])
    if kinds != ["Project", "LocalRelation"]:
        unsupported(written, place, "something that is not an expression over single rows")


def _spark_message(error: AnalysisException | ParseException) -> str:
    found = _MESSAGE.match(str(error))
    return " ".join((found[1] if found else str(error)).split())


def _pointer(text: str, error: Any) -> str:
    """The line of the mistake with a caret under it."""
    origin = error._origin
    line, position = origin.line(), origin.startPosition()
    if not (line.isDefined() and position.isDefined()):
        return text
    content = text.split("\n")[int(line.get()) - 1]
    return f"{content}\n{' ' * int(position.get())}^"


def _session_zone(spark: SparkSession) -> Zone:
    rules = _zone_rules(spark)
    fixed = bool(rules.isFixedOffset())
    offset = rules.getOffset(_java_class(spark, "java.time.Instant").EPOCH).getTotalSeconds()
    return Zone(fixed=fixed, utc=fixed and offset == 0, offset_us=offset * 1_000_000)


def _java_version(spark: SparkSession) -> int:
    return int(_java_class(spark, "java.lang.Runtime").version().feature())


def _zone_rules(spark: SparkSession) -> Any:
    """Java's rules of the session's time zone."""
    name = spark.conf.get("spark.sql.session.timeZone")
    return _java_class(spark, "org.apache.spark.sql.catalyst.util.DateTimeUtils").getZoneId(name).getRules()


def _empty_frame(spark: SparkSession, streams: Sequence[AnalyzedStream], time_type: str) -> DataFrame:
    fields = [
        {"name": f"{stream.name}.{field.name}", "type": field.dataType.jsonValue(), "nullable": True, "metadata": {}}
        for stream in streams
        for field in stream.schema.fields
    ]
    fields.append({"name": RESULT_TIME, "type": time_type, "nullable": True, "metadata": {}})
    schema = _java_class(spark, "org.apache.spark.sql.types.DataType").fromJson(
        json.dumps({"type": "struct", "fields": fields})
    )
    no_rows = _java_class(spark, "java.util.ArrayList")()
    return DataFrame(spark._jsparkSession.createDataFrame(no_rows, schema), spark)


def _java_class(spark: SparkSession, name: str) -> Any:
    """A class by its whole name. Asked for part by part, the JVM searches all its archives for each package's name."""
    return getattr(spark._jvm, name)
