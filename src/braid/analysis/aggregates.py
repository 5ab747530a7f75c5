"""Groups and aggregate calls as data: which function, of which expressions, under which name and type."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from braid.analysis.analyzer import Analyzer
from braid.errors import QueryError, UnsupportedExpressionError
from braid.plan.aggregation import Call, Function
from braid.plan.expressions import Constant
from braid.plan.predicate import Output

FUNCTIONS: dict[str, Function] = {"count": "count", "sum": "sum", "avg": "avg", "min": "min", "max": "max"}
NUMBERS = ("byte", "short", "integer", "long", "float", "double", "decimal")
PLAIN = (*NUMBERS, "boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True)
class Grouping:
    """The outputs that form the groups, the arguments of the calls, and the calls with their names and types."""

    groups: tuple[Output, ...]
    arguments: tuple[Output, ...]
    calls: tuple[Call, ...]
    names: tuple[str, ...]
    types_json: tuple[str, ...]


def analyze_grouping(analyzer: Analyzer, groups: Sequence[str], calls: Sequence[str]) -> Grouping:
    """The grouping of some texts; raises the errors in them."""
    if not calls:
        raise QueryError(
            ".agg needs at least one aggregate.", hint='For example .agg("count(*) AS n", "sum(o.price)").'
        )
    grouped = analyzer.selection(groups) if groups else ()
    for output in grouped:
        require_plain(output, f"groupBy({output.name})")
    arguments: list[Output] = []
    found = [_analyze_call(analyzer, text, len(grouped), arguments) for text in calls]
    names = [output.name for output in grouped] + [name for _, name, _ in found]
    twice = sorted({name for name in names if [n.lower() for n in names].count(name.lower()) > 1})
    if twice:
        raise QueryError(
            f"The aggregation has several columns with one name: {', '.join(twice)}.",
            hint="Alias them, as in sum(o.price) AS total.",
        )
    return Grouping(
        grouped,
        tuple(arguments),
        tuple(call for call, _, _ in found),
        tuple(name for _, name, _ in found),
        tuple(type_json for _, _, type_json in found),
    )


def _analyze_call(analyzer: Analyzer, text: str, first: int, arguments: list[Output]) -> tuple[Call, str, str]:
    """One aggregate; its arguments are appended to those of the calls before it."""
    function, inner, alias, is_distinct = analyzer.aggregate_call(text)
    if function not in FUNCTIONS:
        raise UnsupportedExpressionError(
            f"The aggregate {text.strip()} is not one that Braid keeps: it has {', '.join(FUNCTIONS)} and "
            "count(DISTINCT ...).",
            hint="Compute others on the results, or from these.",
        )
    if is_distinct and function not in ("count", "min", "max"):
        raise UnsupportedExpressionError(
            f"The aggregate {text.strip()} is over distinct values, which only count(DISTINCT ...) can be.",
            hint="Leave DISTINCT out, or count.",
        )
    taken = [analyzer.selection((f"{sql} AS `#a{len(arguments) + n}`",))[0] for n, sql in enumerate(inner)]
    for output in taken:
        require_plain(output, text.strip(), NUMBERS if function in ("sum", "avg") else PLAIN)
    type_json = analyzer.aggregate_type(function, [output.sql for output in taken], text.strip())
    if function == "count" and not is_distinct and all(_is_constant(output) for output in taken):
        taken = []
    places = tuple(first + len(arguments) + n for n in range(len(taken)))
    arguments += taken
    kind: Function = "count_distinct" if function == "count" and is_distinct else FUNCTIONS[function]
    return Call(kind, places), alias, type_json


def _is_constant(output: Output) -> bool:
    """Whether it is a value that is never NULL: `count(1)` counts results."""
    return isinstance(output.expression, Constant) and output.expression.value is not None


def require_plain(output: Output, written: str, allowed: Sequence[str] = PLAIN) -> None:
    """Refuse a value that cannot be grouped, compared or added up."""
    kind = json.loads(output.type_json)
    name = kind if isinstance(kind, str) else kind.get("type", "")
    if name.startswith("decimal"):
        name = "decimal"
    if name not in allowed:
        raise QueryError(
            f"{written} is of type {name}, which cannot be grouped or aggregated.",
            detail=f"Allowed are {', '.join(allowed)}.",
            hint=f"Write {_remedy(name)} instead.",
        )


def _remedy(kind: str) -> str:
    """What to group by or aggregate instead of a value of this type."""
    if kind.startswith(("interval day", "interval hour", "interval minute", "interval second")):
        return "a number, such as unix_micros(o.ts) - unix_micros(q.ts) for o.ts - q.ts, or CAST(... AS STRING)"
    if kind.startswith("string collate"):
        return "... COLLATE UTF8_BINARY, after lower(...) if case must not count,"
    if kind.startswith(("geometry", "geography")):
        return "st_asbinary(...)"
    if kind in ("struct", "array", "map"):
        return "its parts, or to_json(...),"
    return "CAST(... AS STRING)"
