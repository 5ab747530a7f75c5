"""A corrected query takes over the step in which the query of a checkpoint failed.

Predicates may differ. Selections, groups and aggregates may be computed differently while they keep names, types and
functions: published and aggregated results stay. The stored rows must have the columns of the new query, and none that
it needs may have been left out or dropped. Keys and sort orders may differ: new rows are stored under a new layout, and
visit the rows of older ones wherever they are (`for_storage_of`, `storage_digest`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

from braid.engine.restart.differences import unusable
from braid.engine.restart.fingerprint import fingerprint
from braid.engine.restart.null_rejection import columns_in, null_for_nulls_only, rejects_nulls
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan

Record = dict[str, Any]
LATE = "only checked"
OUTPUTS = ("selection", "groups", "aggregates")


def take_over(saved: Record, logical_plan: LogicalPlan) -> tuple[JoinPlan, Record] | list[str]:
    """The plan of a corrected query and its record, or why it cannot take over; [] if it is not a correction.

    Selections of one stream are evaluated at ingest if they are unchanged, otherwise all are evaluated in the join. A
    new predicate whose key is a hash that the stored rows do not have is only checked, for the rest of the checkpoint's
    life.
    """
    found: list[str] = []
    for late, pushdown in _choices(saved, logical_plan):
        plan = build_plan(only_checked(logical_plan, late), pushdown)
        record = {**fingerprint(logical_plan, plan, pushdown), LATE: late}
        if not _is_correction(saved["query"], record["query"]):
            return []
        found = unusable(saved["storage"], record["storage"], record["query"]["predicates"])
        found += _needed_nulls(saved["storage"], record["storage"], logical_plan)
        found += _newly_filtered(saved["storage"], record["storage"]) if pushdown else []
        if not found:
            return plan, {**record, "storage": _with_earlier(saved["storage"], record["storage"])}
    return found


def _choices(saved: Record, logical_plan: LogicalPlan) -> list[tuple[list[str], bool]]:
    """Which predicates are only checked, and whether selections are pushed; the last choice needs the least."""
    before, known = known_late(saved), {str(predicate["sql"]) for predicate in saved["query"]["predicates"]}
    in_sql = [conjunct for conjunct in logical_plan.conjuncts if conjunct.function is None]
    new = [conjunct.sql for conjunct in in_sql if conjunct.sql not in known]
    equalities = [conjunct.sql for conjunct in in_sql if conjunct.equality is not None]
    every = list(dict.fromkeys([*before, *new, *equalities]))
    pushdown = bool(saved["pushdown"])
    tried = [(late, pushed) for late in (before, [*before, *new]) for pushed in dict.fromkeys((pushdown, False))]
    return [*tried, (every, pushdown)]


def _with_earlier(saved: Record, now: Record) -> Record:
    """How rows are stored from now on, with what was left out or dropped of rows that earlier queries stored."""
    return {name: {**storage, **_left_out(saved[name], storage)} for name, storage in now.items()}


def _left_out(saved: Record, now: Record) -> Record:
    reasons = ("left out unless", "left out if null", "left out if the key is null")
    kept = {
        other: min((reach for reach in (reach, saved["kept"][other]) if reach is not None), default=None)
        for other, reach in now["kept"].items()
    }
    return {**{reason: sorted({*saved[reason], *now[reason]}) for reason in reasons}, "kept": kept}


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
    """Columns and keys whose NULLs were filtered out, of rows that the new query may need."""
    rejecting = [c for c in logical_plan.conjuncts if c.function is None and rejects_nulls(c.sql)]
    useless = {column.name for conjunct in rejecting for column in conjunct.columns}
    found = []
    for name, storage in saved.items():
        useless |= set(now[name]["left out if null"])
        needed = [column for column in storage["left out if null"] if column not in useless]
        keys = set(storage["left out if the key is null"]) - set(now[name]["left out if the key is null"])
        harmless = {sql for sql in keys if null_for_nulls_only(sql, logical_plan.ansi) and columns_in(sql) <= useless}
        found += [f"rows of {name} were left out where {what} is NULL" for what in (*needed, *sorted(keys - harmless))]
    return found


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
