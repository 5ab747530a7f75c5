"""Predicates and selections as data: conjuncts with their equalities, outputs with their names and types.

Every mistake in a query's texts is raised here as a Braid error, while the query is built.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pyspark.sql import SparkSession

from braid.analysis import splitting
from braid.analysis.catalyst import Node
from braid.analysis.decimals import Unproven
from braid.analysis.implied import implied_bounds
from braid.analysis.raising import may_raise
from braid.analysis.references import RESULT_TIME, AnalyzedStream, quote, references
from braid.analysis.resolution import Analyzed, Resolver, leaves, unsupported
from braid.analysis.texts import has_case, possible_in_ascii
from braid.analysis.times import counts_time
from braid.analysis.translate import TooDeep, translate, widens_exactly
from braid.errors import (
    PredicateTypeError,
    QueryError,
    SyntaxProblem,
    UnknownStreamError,
    UnsupportedExpressionError,
)
from braid.kernels.expressions.enclosures import can_enclose, has_approximate
from braid.plan.expressions import MAX_DEPTH, Column, Constant, Expression
from braid.plan.predicate import Conjunct, Equality, Output, PythonPredicate, Side

# 1,000 can be planned with the default stack of JVM threads, 2,000 cannot.
MOST_CONJUNCTS = 1_000


class Analyzer:
    """Turns the texts of a query into conjuncts and outputs over the given streams."""

    def __init__(self, spark: SparkSession, streams: Sequence[AnalyzedStream]) -> None:
        self._resolver = Resolver(spark, streams)
        self._names = self._resolver.names

    def predicate(self, text: str) -> tuple[Conjunct, ...]:
        """The conjuncts of a boolean SQL expression, in the order written."""
        whole = self._resolver.parse(text, "predicate")
        _refuse_alias(whole, text)
        require_few(len(leaves(whole)))
        return tuple(self._conjunct(piece) for piece in self._split(text, whole))

    def python_predicate(
        self,
        function: Callable[..., Any],
        columns: Sequence[str],
        selectivity: float | None = None,
        cost: float | None = None,
        version: str | None = None,
        raises: bool = True,
    ) -> Conjunct:
        """A Python function of whole columns as a conjunct."""
        found = tuple(self._whole_column(text) for text in columns)
        name = getattr(function, "__name__", type(function).__name__)
        names = tuple(column.name for column in found)
        predicate = PythonPredicate(function, names, name, selectivity, cost, version)
        written = f"{name}({', '.join(columns)})"
        return Conjunct(written, written, tuple(dict.fromkeys(found)), None, raises=raises, function=predicate)

    def selection(self, expressions: Sequence[str]) -> tuple[Output, ...]:
        """The outputs of selected expressions, stars expanded."""
        if not expressions:
            raise QueryError(
                "A selection was given without expressions.",
                "At least one is needed.",
                "leave .select out to get one struct column per stream.",
            )
        outputs = tuple(output for text in expressions for output in self._outputs(text))
        _refuse_duplicates(outputs)
        return outputs

    def default_selection(self) -> tuple[Output, ...]:
        """One struct column per stream, named after it, and the result time."""
        structs = (self._struct(index) for index in range(len(self._names.streams)))
        outputs = (*structs, *self._outputs(RESULT_TIME))
        _refuse_duplicates(outputs)
        return outputs

    def aggregate_call(self, text: str) -> tuple[str, list[str], str, bool]:
        """An aggregate's function, its arguments' texts, its name, and whether it is over distinct values."""
        parsed = self._resolver.parse(text, "selection")
        if parsed.kind == "MultiAlias":
            unsupported(text, "selection", "several names for one expression")
        call = parsed.children[0] if parsed.kind == "Alias" else parsed
        alone = self._unaliased(text, parsed)
        if call.kind != "UnresolvedFunction":
            raise QueryError(
                f"The aggregate {text.strip()} is not one call of an aggregate function.",
                hint="Write it as in sum(o.price * q.n) AS total; compute with totals on the emitted rows.",
            )
        if call.java.filter().isDefined():
            raise QueryError(
                f"The aggregate {text.strip()} has a FILTER clause.",
                hint="Write the condition into the argument: sum(CASE WHEN condition THEN x END).",
            )
        function = str(call.java.nameParts().mkString(".")).lower()
        given = call.java.arguments()
        arguments = [str(given.apply(number).sql()) for number in range(given.size())]
        name = str(parsed.java.name()) if parsed.kind == "Alias" else _call_name(alone)
        return function, arguments, name, bool(call.java.isDistinct())

    def aggregate_type(self, function: str, arguments: Sequence[str], written: str) -> str:
        """The type of an aggregate of expressions over flat columns, as Spark's JSON."""
        return self._resolver.aggregate_type(function, arguments, written)

    def _split(self, text: str, whole: Node) -> tuple[str, ...]:
        """The conjuncts' texts, or the whole text if Spark's parser reads a cut differently."""
        pieces, expected = splitting.conjuncts(text), leaves(whole)
        cut_as_parsed = len(pieces) == len(expected) and all(
            self._resolver.parses_to(piece, leaf) for piece, leaf in zip(pieces, expected, strict=True)
        )
        return pieces if cut_as_parsed else (text.strip(),)

    def _conjunct(self, text: str) -> Conjunct:
        analyzed = self._resolver.analyze(text, "predicate")
        if analyzed.resolved.type == "void":
            return _null(analyzed)
        if analyzed.resolved.type != "boolean":
            raise PredicateTypeError(
                f"The predicate {text} has type {analyzed.resolved.type}, not boolean.",
                "A predicate is true, false or NULL for each combination of rows.",
                "compare it with something, as in o.a = q.b.",
            )
        expression, reason = self._translated(analyzed.resolved)
        raises = may_raise(analyzed.resolved)
        possible = None
        if expression is not None and has_approximate(expression):
            possible, reason = _in_intervals(expression) if not has_case(expression) else _in_ascii(expression)
            possible, expression = None if raises else possible, None
        return Conjunct(
            written=text,
            sql=analyzed.sql,
            columns=analyzed.columns,
            expression=expression,
            jvm_reason=reason,
            raises=raises,
            equality=self._equality(analyzed),
            implied=self._implied(analyzed.resolved) if expression is None or counts_time(expression) else None,
            possible=possible,
            registered=expression is None and any(node.kind == "PythonUDF" for node in analyzed.resolved.walk()),
        )

    def _implied(self, node: Node) -> Expression | None:
        return implied_bounds(node, self._names.by_flat_name, self._resolver.offsets)

    def _equality(self, analyzed: Analyzed) -> Equality | None:
        root = analyzed.resolved
        if root.kind not in ("EqualTo", "EqualNullSafe") or analyzed.parsed.kind != root.kind:
            return None
        texts = splitting.equality_sides(analyzed.written)
        if texts is None:
            return None
        left = self._side(texts[0], analyzed.parsed.children[0], root.children[0])
        right = self._side(texts[1], analyzed.parsed.children[1], root.children[1])
        if left is None or right is None or left.stream == right.stream:
            return None
        return Equality(left, right, null_safe=root.kind == "EqualNullSafe")

    def _side(self, text: str, parsed: Node, resolved: Node) -> Side | None:
        """One side of an equality; None unless its text means the node and reads one stream."""
        # Collated keys of different bytes may be equal, which Braid's hashes and sort orders do not support.
        if " collate " in resolved.type or not self._resolver.parses_to(text, *leaves(parsed)):
            return None
        analyzed = self._resolver.analyze(text, "predicate")
        if len({column.stream for column in analyzed.columns}) != 1:
            return None
        sql = analyzed.sql
        if not analyzed.resolved.java.semanticEquals(resolved.java):
            sql = f"CAST({sql} AS {resolved.java.dataType().sql()})"
            cast, _ = self._resolver.resolve(sql, text, "predicate")
            if not (cast.java.semanticEquals(resolved.java) or widens_exactly(resolved, analyzed.resolved)):
                return None
        return Side(sql, analyzed.columns, self._translate(resolved), resolved.type, may_raise(resolved))

    def _translate(self, node: Node) -> Expression | None:
        expression = self._translated(node)[0]
        return None if expression is None or has_approximate(expression) else expression

    def _translated(self, node: Node) -> tuple[Expression | None, str]:
        """The expression that Braid can evaluate itself, or the depth or the digits that prevent it."""
        try:
            return translate(node, self._names.by_flat_name, self._resolver.platform), ""
        except TooDeep:
            return None, f"nested deeper than {MAX_DEPTH} levels"
        except Unproven as unproven:
            return None, str(unproven)

    def _outputs(self, text: str) -> Iterator[Output]:
        parsed = self._resolver.parse(text, "selection")
        if parsed.kind == "UnresolvedStar":
            for column in self._star(parsed, text):
                yield from self._outputs(column)
            return
        if parsed.kind == "MultiAlias":
            unsupported(text, "selection", "several names for one expression")
        alias = str(parsed.java.name()) if parsed.kind == "Alias" else None
        analyzed = self._resolver.analyze(self._unaliased(text, parsed), "selection")
        yield self._output(analyzed, alias or _automatic_name(analyzed))

    def _output(self, analyzed: Analyzed, name: str) -> Output:
        node = analyzed.resolved
        expression = self._translate(node)
        if node.kind == "AttributeReference":
            # A bare column needs no evaluation, so its type may be any.
            expression = self._names.by_flat_name[str(node.java.name())]
        return Output(name, analyzed.sql, analyzed.columns, expression, str(node.java.dataType().json()))

    def _unaliased(self, text: str, parsed: Node) -> str:
        """The text of the expression alone, without its alias and the comments around it."""
        expected = leaves(parsed.children[0] if parsed.kind == "Alias" else parsed)
        candidates = (prefix for prefix in splitting.prefixes(text) if self._resolver.parses_to(prefix, *expected))
        return next(candidates, text.strip())

    def _star(self, parsed: Node, text: str) -> Iterator[str]:
        """The columns of `*` or `stream.*`, as texts."""
        streams, target = self._names.streams, parsed.java.target()
        wanted: Sequence[int] = range(len(streams))
        if target.isDefined():
            name = str(target.get().mkString("."))
            index = self._names.stream_index(name)
            if index is None:
                raise UnknownStreamError(
                    f"The selection has {text.strip()}, but {name} is no stream of this join.",
                    f"Streams: {', '.join(streams)}.",
                    "write * or stream.* with one of them.",
                )
            wanted = (index,)
        for index in wanted:
            for column in self._names.by_stream[index]:
                yield f"{quote(streams[index])}.{quote(column)}"

    def _struct(self, index: int) -> Output:
        name, columns = self._names.streams[index], self._names.by_stream[index]
        fields = ", ".join(f"{_string(field)}, {quote(column.name)}" for field, column in columns.items())
        sql = f"named_struct({fields})"
        node, _ = self._resolver.resolve(sql, name, "selection")
        type_json = str(node.java.dataType().json())
        return Output(name, sql, tuple(columns.values()), None, type_json, tuple(columns.items()))

    def _whole_column(self, text: str) -> Column:
        parsed = self._resolver.parse(text, "Python predicate")
        found = [self._names.resolve(reference, "Python predicate") for reference in references(parsed)]
        if parsed.kind == "UnresolvedAttribute" and found[0] is not None and not found[0].fields:
            return found[0].column
        raise QueryError(
            f"The Python predicate takes {text.strip()}, which is not a whole column.",
            "Its arguments are columns: stream.column, or a bare name that only one stream has.",
            "compute the value in the stream's DataFrame and pass that column.",
        )


def require_few(conjuncts: int) -> None:
    """Refuse more conditions than Spark takes in one filter."""
    if conjuncts > MOST_CONJUNCTS:
        raise UnsupportedExpressionError(
            f"The join has {conjuncts:,} conditions joined by AND, and at most {MOST_CONJUNCTS:,} are possible.",
            "Each is analysed, and those that Spark evaluates are one filter, which it plans with a limited stack.",
            "put comparisons with constants into lists, as in o.k NOT IN (1, 2, 3), or filter a stream's DataFrame.",
        )


def _in_intervals(predicate: Expression) -> tuple[Expression | None, str]:
    """What workers can say about a predicate of approximate numbers, and why not more."""
    return predicate if can_enclose(predicate) else None, "its last bits depend on the JVM"


def _in_ascii(predicate: Expression) -> tuple[Expression | None, str]:
    """What workers can say about a predicate with `lower` or `upper`, and why not more."""
    possible = possible_in_ascii(predicate)
    return None if has_approximate(possible) else possible, "letters beyond ASCII depend on the JVM"


def _null(analyzed: Analyzed) -> Conjunct:
    """A predicate of the void type: NULL, unless it raises."""
    sql, raises = f"CAST({analyzed.sql} AS BOOLEAN)", may_raise(analyzed.resolved)
    expression = None if raises else Constant(None, "boolean")
    return Conjunct(analyzed.written, sql, analyzed.columns, expression, raises)


def _automatic_name(analyzed: Analyzed) -> str:
    """Spark's name of an unaliased expression, its columns as the user wrote them; a cast has its column's name."""
    named = analyzed.parsed
    while named.kind == "Cast":
        named = named.children[0]
    if named.kind == "UnresolvedAttribute" and analyzed.references:
        return analyzed.references[0].reference.parts[-1]
    name = analyzed.name
    for one in analyzed.references:
        flat = re.escape(".".join((one.column.name, *one.fields)))
        name = re.sub(rf"(?<![\w.]){flat}(?!\w)", one.reference.written.replace("\\", r"\\"), name)
    return name


def _call_name(text: str) -> str:
    """Spark's name of a call without an alias, its arguments as the user wrote them."""
    return re.sub(r"(?i)^count\s*\(\s*\*\s*\)$", "count(1)", text)


def _string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _refuse_alias(parsed: Node, text: str) -> None:
    if parsed.kind == "Alias":
        raise SyntaxProblem(
            f"The predicate {text.strip()} ends with a name, {parsed.java.name()}.",
            "Only selected expressions have names.",
            "remove it, or write the operator that is missing before it.",
        )


def _refuse_duplicates(outputs: Sequence[Output]) -> None:
    counts = Counter(output.name.lower() for output in outputs)
    twice = sorted({output.name for output in outputs if counts[output.name.lower()] > 1})
    if twice:
        raise QueryError(
            f"The selection has several columns with one name: {', '.join(twice)}.",
            "Names of output columns differ, whatever their case.",
            "alias them, as in o.id AS order_id.",
        )
