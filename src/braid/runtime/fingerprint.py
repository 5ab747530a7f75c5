"""What a checkpoint belongs to: the query as data, and the comparison that a restart makes.

Strategy, units, trigger, retention and sink may change; what changes the meaning of stored rows may not.
"""

from __future__ import annotations

from typing import Any

from braid.errors import RestartError
from braid.plan.join import JoinPlan
from braid.plan.question import Question

FORMAT = 1


def fingerprint(question: Question, plan: JoinPlan) -> dict[str, Any]:
    """All that must stay the same for a checkpoint to be continued."""
    return {
        "format": FORMAT,
        "streams": {
            stream.name: {
                "position": stream.number,
                "time": stream.time,
                "window": "auto" if stream.automatic else stream.window_us,
                "lateness": stream.lateness_us,
                "idle_after": stream.idle_after_ms,
                "columns": {column.name: column.type for column in plan.streams[stream.number].columns},
            }
            for stream in question.streams
        },
        "predicates": [conjunct.written for conjunct in question.conjuncts],
        "selection": {output.name: output.sql for output in question.outputs},
        "settings": {
            "time zone": question.time_zone,
            "ANSI mode": question.ansi,
            "case sensitivity": question.case_sensitive,
        },
    }


def require_same(saved: dict[str, Any], now: dict[str, Any], location: str) -> None:
    """Refuse a query that differs from the checkpoint's, naming every difference."""
    differences = _differences(saved, now, "")
    if differences:
        raise RestartError(
            f"The query cannot continue the checkpoint {location}: it differs from the one that wrote it.",
            detail="\n".join(f"  {line}" for line in differences),
            hint="Start the changed query with a new checkpointLocation. Strategy, units, trigger, retention and sink "
            "options may change; the rest may not.",
        )


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
