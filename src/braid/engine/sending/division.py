"""A command in parts: what is common to all slots, once, and what each slot alone needs.

Together the parts of a job are linear in its slots: nothing that all tasks need is repeated for each of them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from braid.engine.commands import Command, ProbeCommand, RoundsCommand
from braid.engine.sending.probe_parts import divide_probe, divide_rounds, join_probe, join_rounds
from braid.plan.typed_json import to_text
from braid.state.compact import compact_field, expand_field, field_types

C = TypeVar("C", bound=Command[Any])


@dataclass(frozen=True)
class Division:
    """The common part of a command, and those of the slots; none if all slots have the same command."""

    common: bytes
    own: tuple[bytes, ...]


def divide(command: Command[Any], slots: int) -> Division:
    if isinstance(command, ProbeCommand):
        common, own = divide_probe(command, slots)
        return Division(compressed(common), tuple(own))
    if isinstance(command, RoundsCommand):
        common, own = divide_rounds(command, slots)
        return Division(compressed(common), tuple(own))
    parts, hints = command.divide(slots), field_types(type(command))
    values = {name: [getattr(part, name) for part in parts] for name in hints}
    shared = [name for name, found in values.items() if all(value is found[0] or value == found[0] for value in found)]
    common = {name: compact_field(hints[name], values[name][0]) for name in shared}
    if len(parts) == 1:
        return Division(compressed(common), ())
    differing = [name for name in hints if name not in shared]
    parts_of_slots = ({name: compact_field(hints[name], getattr(part, name)) for name in differing} for part in parts)
    return Division(compressed(common), tuple(map(compressed, parts_of_slots)))


def open_common(kind: type[C], data: bytes) -> Callable[[bytes, int], C]:
    """The function that makes the command of a slot from its own part; a worker keeps it for the tasks of a job."""
    common = json.loads(zlib.decompress(data))
    if kind is ProbeCommand:
        return cast("Callable[[bytes, int], C]", join_probe(common))
    if kind is RoundsCommand:
        return cast("Callable[[bytes, int], C]", join_rounds(common))
    hints = field_types(kind)

    def joined(own: bytes, slot: int) -> C:
        values = common | (json.loads(zlib.decompress(own)) if own else {})
        return kind(**{name: expand_field(hints[name], value) for name, value in values.items()})

    return joined


def compressed(content: Any) -> bytes:
    return zlib.compress(to_text(content).encode(), 6)
