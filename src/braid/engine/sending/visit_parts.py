"""The visits of a probe command as a part of each slot: those of its units, for the lookups of the job."""

from __future__ import annotations

import struct

import numpy as np

from braid.engine.commands import ProbeCommand, Visit
from braid.placement.units import slot_of, units_of

COUNT = struct.Struct("<I")
FIELDS = 4


def visit_parts(command: ProbeCommand, slots: int) -> list[bytes]:
    """The visits of each slot as bytes, their number first; nothing in a job without visits."""
    if not command.visits:
        return [b""] * slots
    own: list[list[tuple[int, ...]]] = [[] for _ in range(slots)]
    units = units_of(command.layouts[-1], len(command.join_orders))
    lookups = {
        (delta_stream, stream)
        for delta_stream, order in enumerate(command.join_orders)
        for number, stream in enumerate(order, command.rounds - len(order))
        if command.first_round <= number <= command.last_round
    }
    for visit in command.visits:
        if (visit.delta_stream, visit.stream) in lookups:
            entry = (visit.delta_stream, visit.stream, visit.unit, visit.route)
            own[slot_of(units[visit.unit], slots)].append(entry)
    return [COUNT.pack(len(entries)) + np.array(entries, "<u4").tobytes() for entries in own]


def read_visits(own: bytes) -> tuple[tuple[Visit, ...], bytes]:
    """The visits of a slot, and the rest of its part."""
    (count,) = COUNT.unpack_from(own)
    end = COUNT.size + 4 * FIELDS * count
    entries = np.frombuffer(own, "<u4", FIELDS * count, COUNT.size).reshape(-1, FIELDS)
    return tuple(Visit(*entry) for entry in entries.tolist()), own[end:]
