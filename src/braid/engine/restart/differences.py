"""The differences between two fingerprints, each in one line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from braid.engine.restart.function_digest import function_change
from braid.plan.durations import format_us

Record = dict[str, Any]


def differences(saved: Record, now: Record) -> list[str]:
    """Every difference between the query of a checkpoint and the current one; none: it may continue."""
    found: list[str] = []
    for name in dict.fromkeys([*saved, *now]):
        compare = _COMPARISONS.get(name, _plain)
        found += compare(name, saved, now)
    return found


def unusable(saved: Record, now: Record, predicates: Sequence[Record]) -> list[str]:
    """Why stored rows cannot serve corrected predicates: columns or rows that were not kept."""
    found = []
    kept = {_text(predicate)[1] for predicate in predicates}
    for name, storage in saved.items():
        missing = [column for column in now[name]["columns"] if column not in storage["columns"]]
        found += [f"rows of {name} were stored without {column}" for column in missing]
        gone = [text for text in storage["left out unless"] if text not in kept]
        found += [f"rows of {name} were left out unless {text}" for text in gone]
        found += [
            f"rows of {name} were kept for {_duration(before)} of {other}, and would be needed for {_duration(after)}"
            for other, after in now[name]["kept"].items()
            if _is_shorter(before := storage["kept"][other], after)
        ]
    return found


def _is_shorter(kept_us: int | None, needed_us: int | None) -> bool:
    return kept_us is not None and (needed_us is None or kept_us < needed_us)


def _duration(span_us: int | None) -> str:
    return "all time" if span_us is None else format_us(span_us)


def _plain(name: str, saved: Record, now: Record) -> list[str]:
    return _values(saved, now, name, "")


def _values(saved: Any, now: Any, name: str, place: str) -> list[str]:
    """Differences of one entry, and below it where it has entries of its own."""
    where = f"{place} {name}".strip()
    if name not in now:
        return [f"{where}: was {saved[name]!r}, is gone"]
    if name not in saved:
        return [f"{where}: is new, {now[name]!r}"]
    before, after = saved[name], now[name]
    if isinstance(before, dict) and isinstance(after, dict):
        return [line for key in dict.fromkeys([*before, *after]) for line in _values(before, after, key, where)]
    return [] if before == after else [f"{where}: was {before!r}, is {after!r}"]


def _columns(name: str, saved: Record, now: Record) -> list[str]:
    """Differences of lists of named columns: the names, each column, and the order."""
    if name not in saved or name not in now:
        return _plain(name, saved, now)
    before = {column[0]: column[1:] for column in saved[name]}
    after = {column[0]: column[1:] for column in now[name]}
    found = [f"{name} {column}: is gone" for column in before if column not in after]
    found += [f"{name} {column}: is new, {_column(after[column])}" for column in after if column not in before]
    found += [
        f"{name} {column}: was {_column(before[column])}, is {_column(after[column])}"
        for column in before
        if column in after and before[column] != after[column]
    ]
    if set(before) == set(after) and list(before) != list(after):
        found.append(f"{name}: the columns were in the order {', '.join(before)}, are in the order {', '.join(after)}")
    return found


def _column(description: Sequence[str]) -> str:
    sql, kind = description
    return f"{sql} of type {kind.replace(chr(34), '')}"


def _predicates(name: str, saved: Record, now: Record) -> list[str]:
    before, after = saved[name], now[name]
    old, new = ([_text(predicate) for predicate in predicates] for predicates in (before, after))
    if old == new:
        return [*changed_functions(before, after)]
    gone, fresh = _beyond(old, new), dict(_beyond(new, old))
    found = [
        f"predicate {written}: was read as {sql}, is read as {fresh.pop(written)}"
        if written in fresh
        else f"predicate {written}: is gone"
        for written, sql in gone
    ]
    found += [f"predicate {written}: is new, read as {sql}" for written, sql in fresh.items()]
    return found or [f"predicates: were in the order {_written(before)}, are in the order {_written(after)}"]


def changed_functions(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    """The changed Python functions of predicates that are otherwise unchanged."""
    for old, new in zip(before, after, strict=True):
        change = function_change(old["function"], new["function"]) if "function" in old else None
        if change is not None:
            yield f"predicate {old['written']}: {change}"


def only_functions_changed(saved: Record, now: Record) -> bool:
    """Whether the code of Python functions is all that differs."""
    same = [_text(predicate) for predicate in saved["predicates"]] == [_text(new) for new in now["predicates"]]
    return same and not differences(saved, {**now, "predicates": saved["predicates"]})


def _text(predicate: Record) -> tuple[str, str]:
    sql = predicate["sql"]
    return predicate["written"], sql if isinstance(sql, str) else ", ".join(sql)


def _beyond(some: Sequence[tuple[str, str]], others: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """The items that occur more often in the first list than in the second."""
    return list((Counter(some) - Counter(others)).elements())


def _written(predicates: Sequence[Record]) -> str:
    return ", ".join(predicate["written"] for predicate in predicates)


_COMPARISONS: dict[str, Callable[[str, Record, Record], list[str]]] = {
    "selection": _columns,
    "groups": _columns,
    "aggregates": _columns,
    "predicates": _predicates,
}
