"""What a checkpoint belongs to: the query as data, and the comparison that a restart makes.

Strategy, units, the policy of an order, trigger, retention and sink may change; what changes the meaning of stored
rows may not. One exception: after a predicate has failed, a corrected one may take over, if the rows already stored
serve it too.
"""

from __future__ import annotations

from typing import Any

from braid.errors import RestartError
from braid.optimizer.build import build_plan
from braid.plan.explain import render
from braid.plan.join import JoinPlan, StreamPlan
from braid.plan.question import Question, StreamQuestion

FORMAT = 1


def fingerprint(question: Question, plan: JoinPlan, pushdown: bool) -> dict[str, Any]:
    """All that must stay the same for a checkpoint to be continued, and how its rows are stored."""
    return {
        "query": {
            "format": FORMAT,
            "streams": {stream.name: _stream(question, plan, stream.number) for stream in question.streams},
            "predicates": [conjunct.written for conjunct in question.conjuncts],
            "selection": {output.name: output.sql for output in question.outputs},
            **_summary(question),
            **({"order": "by result time"} if question.ordered else {}),
            "settings": {
                "time zone": question.time_zone,
                "ANSI mode": question.ansi,
                "case sensitivity": question.case_sensitive,
            },
        },
        "storage": {stream.name: _storage(plan, stream) for stream in plan.streams},
        "pushdown": pushdown,
    }


def _summary(question: Question) -> dict[str, Any]:
    """What a summary's view means; a query without one has no such entry. How updates travel may change."""
    summary = question.summary
    if summary is None:
        return {}
    calls = [f"{call.function}({', '.join(question.outputs[n].sql for n in call.arguments)})" for call in summary.calls]
    return {"summary": {"groups": summary.groups, "calls": calls, "over": summary.over_us, "time of": summary.time_of}}


def continue_plan(
    saved: dict[str, Any], question: Question, location: str, predicate_failed: bool
) -> tuple[JoinPlan, dict[str, Any] | None]:
    """The plan on which a checkpoint is continued, and its new record if a corrected predicate takes over."""
    pushdown = bool(saved["pushdown"])
    plan = build_plan(question, pushdown)
    now = fingerprint(question, plan, pushdown)
    differences = _differences(saved["query"], now["query"], "")
    if not differences:
        return plan, None
    if predicate_failed and _only_predicates(saved["query"], now["query"]):
        corrected = build_plan(question, pushdown=False)
        record = fingerprint(question, corrected, pushdown=False)
        differences += _unusable(saved["storage"], record["storage"], record["query"]["predicates"])
        if len(differences) == len(_differences(saved["query"], now["query"], "")):
            return corrected, record
    raise RestartError(
        f"The query cannot continue the checkpoint {location}: it differs from the one that wrote it.",
        detail="\n".join(f"  {line}" for line in differences),
        hint="Start the changed query with a new checkpointLocation. Strategy, units, the policy of an order, "
        "trigger, retention and sink options may change; the rest may not.",
    )


def _stream(question: Question, plan: JoinPlan, number: int) -> dict[str, Any]:
    stream = question.streams[number]
    return {
        "position": number,
        "time": stream.time,
        "window": _window(stream),
        "lateness": stream.lateness_us,
        "idle_after": stream.idle_after_ms,
        "columns": {column.name: column.type for column in plan.streams[number].columns},
    }


def _window(stream: StreamQuestion) -> int | str | None:
    if stream.window_rows is not None:
        return f"{stream.window_rows} rows"
    return "auto" if stream.automatic else stream.window_us


def _storage(plan: JoinPlan, stream: StreamPlan) -> dict[str, Any]:
    """How a stream's rows are kept: what is in them, in which orders, and what was left out."""
    orders = []
    for index in stream.indexes:
        sides = [plan.parts[part].side_of(stream.number) for part in index.parts]
        keys = [side.sql for side in sides if side is not None]
        orders.append([*keys, "" if index.range is None else render(index.range)])
    return {
        "columns": plan.schemas[stream.number].names,
        "orders": orders,
        "left out unless": [plan.conjuncts[number].written for number in plan.pushed[stream.number]],
    }


def _unusable(saved: dict[str, Any], now: dict[str, Any], predicates: list[str]) -> list[str]:
    """Why stored rows cannot serve a corrected predicate."""
    found = []
    for name, storage in saved.items():
        found += [
            f"stored {what} of {name}: were {storage[what]}, would be {now[name][what]}"
            for what in ("columns", "orders")
            if storage[what] != now[name][what]
        ]
        gone = [text for text in storage["left out unless"] if text not in predicates]
        found += [f"rows of {name} were left out unless {text}" for text in gone]
    return found


def _only_predicates(saved: dict[str, Any], now: dict[str, Any]) -> bool:
    return {**saved, "predicates": None} == {**now, "predicates": None}


def _differences(saved: Any, now: Any, place: str) -> list[str]:
    if isinstance(saved, dict) and isinstance(now, dict):
        found = []
        for name in dict.fromkeys([*saved, *now]):
            where = f"{place} {name}".strip()
            if name not in now:
                found.append(f"{where}: was {saved[name]!r}, is gone")
            elif name not in saved:
                found.append(f"{where}: is new, {now[name]!r}")
            else:
                found += _differences(saved[name], now[name], where)
        return found
    return [] if saved == now else [f"{place}: was {saved!r}, is {now!r}"]
