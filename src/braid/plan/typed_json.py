"""Frozen dataclasses as JSON text, and back by their type hints.

Commands, reports and records cross process boundaries in this form. Nothing is unpickled: a text can only become the
dataclass that the reader asks for.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")
Decoder = Callable[[Any], Any]


def to_text(value: object) -> str:
    """The JSON text of a dataclass, or of anything made of dataclasses; keys are sorted, so equal values are equal."""
    return json.dumps(value, default=vars, separators=(",", ":"), sort_keys=True)


def to_rows(value: object) -> str:
    """The same without the names of fields, in their order: shorter, and read in half the time."""
    return json.dumps(value, default=_row, separators=(",", ":"), sort_keys=True)


def from_text(kind: type[T], text: str | bytes) -> T:
    return from_json(kind, json.loads(text))


def from_json(kind: type[T], content: Any) -> T:
    """A value of this type from parsed JSON of either form; TypeError if fields are missing or unknown."""
    hint: Any = kind
    decoder = _decoder(hint)
    value: T = content if decoder is None else decoder(content)
    return value


@cache
def _decoder(hint: Any) -> Decoder | None:
    """How a value of this type is built from parsed JSON; None: it already is one."""
    if is_dataclass(hint) and isinstance(hint, type):
        return _dataclass_decoder(hint)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return hint
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return _tuple_decoder(arguments)
    if get_origin(hint) in (Union, UnionType):
        known = [_decoder(argument) for argument in arguments if argument is not NoneType]
        return _optional(known[0]) if len(known) == 1 and known[0] is not None else None
    return None


def _dataclass_decoder(kind: type[Any]) -> Decoder:
    hints = get_type_hints(kind)
    found = {field.name: _decoder(hints[field.name]) for field in fields(kind)}
    decoders = [(name, decoder) for name, decoder in found.items() if decoder is not None]
    # Setting all fields at once takes half the time of a frozen dataclass's constructor, which sets one by one.
    at_once = not hasattr(kind, "__post_init__") and not hasattr(kind, "__slots__")
    names, places = tuple(found), [(list(found).index(name), decoder) for name, decoder in decoders]

    def build_row(values: list[Any]) -> Any:
        if len(values) != len(names):
            raise TypeError(f"{kind.__name__} has {len(names)} fields, not {len(values)}")
        for place, decoder in places:
            values[place] = decoder(values[place])
        if not at_once:
            return kind(**dict(zip(names, values, strict=True)))
        built = object.__new__(kind)
        built.__dict__.update(zip(names, values, strict=True))
        return built

    def build(content: Any) -> Any:
        if type(content) is list:
            return build_row(content)
        values = dict(content)
        for name, decoder in decoders:
            if name in values:
                values[name] = decoder(values[name])
        return kind(**values)

    return build


def _row(value: Any) -> list[Any]:
    return [getattr(value, field.name) for field in fields(value)]


def _tuple_decoder(arguments: tuple[Any, ...]) -> Decoder:
    if len(arguments) != 2 or arguments[1] is not Ellipsis:
        decoders = [_decoder(argument) or (lambda value: value) for argument in arguments]
        return lambda content: tuple(d(value) for d, value in zip(decoders, content, strict=True))
    element = _decoder(arguments[0])
    return tuple if element is None else lambda content: tuple([element(value) for value in content])


def _optional(decoder: Decoder) -> Decoder:
    return lambda content: None if content is None else decoder(content)
