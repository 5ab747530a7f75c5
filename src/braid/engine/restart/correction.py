"""A corrected query takes over the step in which the query of a checkpoint failed.

Predicates may differ. Selections, groups and aggregates may be computed differently while they keep names, types and
functions: published and aggregated results stay. The stored rows must serve the new query: their columns, their sort
orders, and what was filtered out at ingest.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from braid.engine.restart.differences import unusable
from braid.engine.restart.fingerprint import fingerprint
from braid.engine.restart.null_rejection import rejects_nulls
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan

Record = dict[str, Any]
LATE = "only checked"
OUTPUTS = ("selection", "groups", "aggregates")


def take_over(saved: Record, logical_plan: LogicalPlan) -> tuple[JoinPlan, Record] | list[str]:
    """The plan of a corrected query and its record, or why it cannot take over; [] if it is not a correction.

    Selections of one stream are evaluated at ingest if they are unchanged, otherwise all are evaluated in the join. A
    new predicate may be a key or a range that the stored rows are not sorted by; then it is only checked, for the rest
    of the checkpoint's life.
    """
    before, known = known_late(saved), {str(predicate["sql"]) for predicate in saved["query"]["predicates"]}
    new = [
        conjunct.sql for conjunct in logical_plan.conjuncts if conjunct.function is None and conjunct.sql not in known
    ]
    problems: list[str] = []
    for late in (before, [*before, *new]):
        for pushdown in dict.fromkeys((bool(saved["pushdown"]), False)):
            plan = build_plan(only_checked(logical_plan, late), pushdown)
            record = {**fingerprint(logical_plan, plan, pushdown), LATE: late}
            if not _is_correction(saved["query"], record["query"]):
                return []
            found = unusable(saved["storage"], record["storage"], record["query"]["predicates"])
            found += _needed_nulls(saved["storage"], record["storage"], logical_plan)
            found += _newly_filtered(saved["storage"], record["storage"]) if pushdown else []
            if not found:
                return plan, record
            problems = problems or found
    return problems


def known_late(saved: Record) -> list[str]:
    """The predicates that a query adopted after rows were stored, and that therefore are no key and no range."""
    return list(saved.get(LATE, ()))


def only_checked(logical_plan: LogicalPlan, late: Collection[str]) -> LogicalPlan:
    """The logical plan with some predicates only checked: no key, no range and no selection at ingest."""
    conjuncts = tuple(
        replace(conjunct, equality=None, raises=True) if conjunct.sql in late else conjunct
        for conjunct in logical_plan.conjuncts
    )
    return replace(logical_plan, conjuncts=conjuncts)


def _needed_nulls(saved: Record, now: Record, logical_plan: LogicalPlan) -> list[str]:
    """Columns whose NULLs were filtered out, of rows that the new query may need."""
    rejecting = [c for c in logical_plan.conjuncts if c.function is None and rejects_nulls(c.sql)]
    useless = {column.name for conjunct in rejecting for column in conjunct.columns}
    return [
        f"rows of {name} were left out where {column} is NULL"
        for name, storage in saved.items()
        for column in storage["left out if null"]
        if column not in now[name]["left out if null"] and column not in useless
    ]


def _newly_filtered(saved: Record, now: Record) -> list[str]:
    """New filters at ingest: no lookup would apply them to the rows already stored."""
    return [
        f"rows of {name} were stored whatever {text} says"
        for name, storage in now.items()
        for text in storage["left out unless"]
        if text not in saved[name]["left out unless"]
    ]


def _is_correction(saved: Record, now: Record) -> bool:
    return _fixed(saved) == _fixed(now) and _same_types(saved["streams"], now["streams"])


def _fixed(query: Record) -> Record:
    """The parts of a query that a correction does not change."""
    streams = {name: {**stream, "columns": None} for name, stream in query["streams"].items()}
    outputs = {name: [_shape(name, output) for output in query[name]] for name in OUTPUTS if name in query}
    return {**query, **outputs, "predicates": None, "streams": streams}


def _shape(kind: str, output: list[str]) -> list[str]:
    """A column without its expression; an aggregate keeps its function, whose totals are stored."""
    name, sql, types = output
    return [name, sql.partition("(")[0], types] if kind == "aggregates" else [name, types]


def _same_types(saved: Record, now: Record) -> bool:
    """Whether the columns that both queries read have the same types."""
    both = ((saved[name]["columns"], now[name]["columns"]) for name in saved)
    return all(before[column] == after[column] for before, after in both for column in before.keys() & after.keys())
