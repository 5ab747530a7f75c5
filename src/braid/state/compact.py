"""Frozen dataclasses as JSON in which long tuples are packed columns (`packing.py`).

Where a field is a long tuple of texts, fractions or dataclasses of such, its entries are packed as one column for each
of their fields. Everything else is plain JSON. The reader goes by the type hints, as in `plan/typed_json.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import islice, repeat
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from braid.plan.typed_json import from_json
from braid.state.packing import ColumnReader, ColumnWriter

T = TypeVar("T")
PACKED = "packed"
# Shorter tuples are as small as plain JSON, and can be read by eye.
MIN_PACKED = 8


def to_compact(value: Any) -> Any:
    """What `json.dumps` takes, with `default=vars`."""
    hints = field_types(type(value))
    return {name: compact_field(hint, getattr(value, name)) for name, hint in hints.items()}


def from_compact(kind: type[T], content: dict[str, Any]) -> T:
    """TypeError or ValueError if the content is not one of this kind."""
    hints = field_types(kind)
    return kind(**{name: expand_field(hints.get(name, Any), value) for name, value in content.items()})


def compact_field(hint: Any, value: Any) -> Any:
    """A field's value as JSON, by its type."""
    if isinstance(value, tuple) and len(value) >= MIN_PACKED and is_packable(hint):
        return {PACKED: pack(get_args(hint)[0], value)}
    kind = inner_dataclass(hint)
    return to_compact(value) if kind is not None and value is not None else value


def expand_field(hint: Any, content: Any) -> Any:
    if isinstance(content, dict) and PACKED in content and is_packable(hint):
        return unpack(get_args(hint)[0], content[PACKED])
    kind = inner_dataclass(hint)
    if kind is not None and content is not None:
        return from_compact(kind, content)
    return from_json(hint, content)


@cache
def is_packable(hint: Any) -> bool:
    """Whether it is a tuple, of any length, of entries that can be packed."""
    arguments = get_args(hint)
    if get_origin(hint) is not tuple or len(arguments) != 2 or arguments[1] is not Ellipsis:
        return False
    return _is_entry(arguments[0])


def _is_entry(kind: Any) -> bool:
    """Texts, fractions, and dataclasses of numbers, texts, and tuples that can be packed."""
    if kind is str or kind is float:
        return True
    return is_dataclass(kind) and all(hint in COLUMNS or is_packable(hint) for hint in field_types(kind).values())


def field_types(kind: Any) -> dict[str, Any]:
    """The type of each field of a dataclass."""
    return _field_types(kind)


@cache
def _field_types(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


@cache
def inner_dataclass(hint: Any) -> Any:
    """The dataclass that a field is, or may be beside None."""
    if get_origin(hint) in (Union, UnionType):
        known = [argument for argument in get_args(hint) if argument is not NoneType]
        return inner_dataclass(known[0]) if len(known) == 1 else None
    return hint if is_dataclass(hint) else None


def pack(kind: type[Any], values: Sequence[Any], zeroed: Collection[str] = ()) -> str:
    """The entries of a tuple, as one column for each of their fields; the numbers of the `zeroed` fields as zeros."""
    writer = ColumnWriter()
    _write_entries(writer, kind, values, zeroed)
    return writer.to_text()


def _write_entries(writer: ColumnWriter, kind: Any, values: Sequence[Any], zeroed: Collection[str] = ()) -> None:
    if kind is str:
        writer.texts(values)
        return
    if kind is float:
        writer.numbers(np.array(values, np.float64).view(np.int64))
        return
    columns = zip(*map(row_getter(kind), values), strict=True) if values else repeat(())
    for (name, hint), column in zip(field_types(kind).items(), columns, strict=False):
        if hint in COLUMNS:
            COLUMNS[hint][0](writer, [0] * len(values) if name in zeroed else column)
        else:
            writer.numbers([len(inner) for inner in column])
            _write_entries(writer, get_args(hint)[0], [entry for inner in column for entry in inner])


def _read_entries(reader: ColumnReader, kind: Any) -> list[Any]:
    if kind is str:
        return reader.texts()
    if kind is float:
        return list(np.asarray(reader.numbers(), np.int64).view(np.float64).tolist())
    columns: list[Sequence[Any]] = []
    for hint in field_types(kind).values():
        if hint in COLUMNS:
            columns.append(COLUMNS[hint][1](reader))
        else:
            lengths = reader.integers()
            entries = iter(_read_entries(reader, get_args(hint)[0]))
            columns.append([tuple(islice(entries, length)) for length in lengths])
    return list(map(kind, *columns))


def row_getter(kind: Any) -> Any:
    """Reads all fields of an entry at once, as a tuple."""
    return _row_getter(kind)


@cache
def _row_getter(kind: Any) -> Any:
    names = list(field_types(kind))
    return attrgetter(*names) if len(names) > 1 else lambda entry: (getattr(entry, names[0]),)


def unpack(kind: type[T], text: str) -> tuple[T, ...]:
    return tuple(_read_entries(ColumnReader.of_text(text), kind))


def _write_optional(writer: ColumnWriter, values: Sequence[int | None]) -> None:
    writer.numbers([value is None for value in values])
    writer.numbers([value for value in values if value is not None])


def _read_optional(reader: ColumnReader) -> list[int | None]:
    absent, known = reader.integers(), iter(reader.integers())
    return [None if missing else next(known) for missing in absent]


def _write_tuples(writer: ColumnWriter, values: Sequence[tuple[int, ...] | None]) -> None:
    """Equal tuples are stored once."""
    places: dict[tuple[int, ...] | None, int] = {None: 0}
    writer.numbers([places.setdefault(value, len(places)) for value in values])
    known = [value for value in places if value is not None]
    writer.numbers([len(value) for value in known])
    writer.numbers([number for value in known for number in value])


def _read_tuples(reader: ColumnReader) -> list[tuple[int, ...] | None]:
    places, lengths, numbers = (reader.integers() for _ in range(3))
    known: list[tuple[int, ...] | None] = [None]
    at = 0
    for length in lengths:
        known.append(tuple(numbers[at : at + length]))
        at += length
    return [known[place] for place in places]


def _read_flags(reader: ColumnReader) -> list[bool]:
    return [bool(value) for value in reader.integers()]


COLUMNS: dict[Any, tuple[Any, Any]] = {
    int: (ColumnWriter.numbers, ColumnReader.integers),
    bool: (ColumnWriter.numbers, _read_flags),
    str: (ColumnWriter.texts, ColumnReader.texts),
    int | None: (_write_optional, _read_optional),
    tuple[int, ...]: (_write_tuples, _read_tuples),
    tuple[int, ...] | None: (_write_tuples, _read_tuples),
}
