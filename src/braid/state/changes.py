"""What changed from one record to the next, as JSON, and the record after it.

Only fields that differ are in a change. A long tuple is written as the places of the entries that it keeps of the
earlier one, and its new entries (`compact.py`): a list of thousands of blocks changes by a few per step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar, cast, get_args

from braid.state.compact import compact_field, expand_field, field_types, inner_dataclass, is_packable, pack, unpack
from braid.state.packing import ColumnReader, ColumnWriter

T = TypeVar("T")
VALUE, FIELDS, KEPT, NEW = "value", "fields", "kept", "new"
ABSENT = -1


def difference(before: Any, after: Any) -> dict[str, Any]:
    """The fields of a dataclass in which `after` differs from `before`; entries that are kept are the same objects."""
    changed = {}
    for name, hint in field_types(type(after)).items():
        old, new = getattr(before, name), getattr(after, name)
        if new is not old and new != old:
            changed[name] = _change(hint, old, new)
    return changed


def apply(before: T, changed: dict[str, Any]) -> T:
    """The record after a change; KeyError, TypeError or ValueError if it is none of this kind."""
    hints = field_types(type(before))
    values = {name: _changed(hints[name], getattr(before, name), change) for name, change in changed.items()}
    after: T = replace(cast("Any", before), **values)
    return after


def _change(hint: Any, old: Any, new: Any) -> dict[str, Any]:
    if inner_dataclass(hint) is not None and old is not None and new is not None:
        return {FIELDS: difference(old, new)}
    if is_packable(hint) and get_args(hint)[0] not in (str, float) and old and new:
        places = {id(entry): place for place, entry in enumerate(old)}
        kept = [places.get(id(entry), ABSENT) for entry in new]
        writer = ColumnWriter()
        writer.numbers(kept)
        added = [entry for entry, place in zip(new, kept, strict=True) if place == ABSENT]
        return {KEPT: writer.to_text(), NEW: pack(get_args(hint)[0], added)}
    return {VALUE: compact_field(hint, new)}


def _changed(hint: Any, old: Any, change: dict[str, Any]) -> Any:
    if FIELDS in change:
        return apply(old, change[FIELDS])
    if KEPT in change:
        added = iter(unpack(get_args(hint)[0], change[NEW]))
        places = ColumnReader.of_text(change[KEPT]).integers()
        return tuple(next(added) if place == ABSENT else old[place] for place in places)
    return expand_field(hint, change[VALUE])
