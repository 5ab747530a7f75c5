"""The parts of a probe command.

All slots get the blocks whose rows start, those without known units, and what else the command says. A slot gets the
blocks with rows of its units. Those of one *family* differ only in slot and attempt: the families are common, and a
slot's part has two numbers for each of its blocks, its merges, and its visits. In the parts blocks have no rows, copies
and bytes, and the times of their family, which bound their own: a task reads both in the footers of the files. Where a
job runs rounds of several terms, the first command is divided, and the others are common to all slots: they read its
blocks.
"""

from __future__ import annotations

import re
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from braid.engine.commands import ProbeCommand, RoundsCommand
from braid.engine.sending.visit_parts import read_visits, visit_parts
from braid.placement.groups import slots_of_units
from braid.plan.typed_json import from_json
from braid.state.compact import from_compact, pack, to_compact, unpack
from braid.state.manifest import Block, Merge
from braid.state.packing import ColumnReader, ColumnWriter

OWN_FILE = re.compile(r"(.*?-[0-9]{12}-.*?)([0-9]{5})-([1-9][0-9]{0,17}|0)(\D.*)?")
HEADER = struct.Struct("<IIB")
# The roles of a block in a merge.
INPUT, PART = 0, 1
VARYING = ("file", "units", "rows", "size", "copies", "min_time", "max_time")
_common_fields = attrgetter(*(field.name for field in fields(Block) if field.name not in VARYING))


@dataclass(frozen=True)
class Family:
    """What some blocks have in common, as a block; a name is `prefix`, the slot plus `shift`, the attempt, `suffix`.

    Where `shift` is None the prefix is the whole name. `units` are relative to the slot.
    """

    prefix: str
    shift: int | None
    suffix: str
    attempt: int
    block: Block

    def member(self, slot: int, attempt: int) -> Block:
        file = self.prefix
        if self.shift is not None:
            file = f"{file}{slot + self.shift:05d}-{self.attempt + attempt}{self.suffix}"
        units = self.block.units
        return replace(self.block, file=file, units=None if units is None else tuple(slot + unit for unit in units))


@dataclass(frozen=True, eq=False)
class _Name:
    """What the names and units of a family have in common. Equal ones are the same object, which is fast to compare."""

    prefix: str
    shift: int | None
    suffix: str
    units: tuple[int, ...] | None


class _Families:
    """Assigns blocks to families."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[_Name, Any], int] = {}
        self._blocks: list[Block] = []
        self._times: list[list[int]] = []

    def add(self, block: Block, slot: int) -> tuple[int, int]:
        """The family of a block as one of a slot, and its attempt."""
        name, attempt = _named(block.file, block.units, slot)
        number = self._numbers.setdefault((name, _common_fields(block)), len(self._blocks))
        if number == len(self._blocks):
            self._blocks.append(block)
            self._times.append([block.min_time, block.max_time])
            return number, attempt
        times = self._times[number]
        times[0], times[1] = min(times[0], block.min_time), max(times[1], block.max_time)
        return number, attempt

    def all(self, attempts: Sequence[int]) -> list[Family]:
        """Every family; `attempts` are what those of its blocks are counted from."""
        found = []
        for (name, _), block, times, attempt in zip(self._numbers, self._blocks, self._times, attempts, strict=True):
            unread = replace(block, file="", units=name.units, rows=0, size=0, copies=0)
            bounded = replace(unread, min_time=times[0], max_time=times[1])
            found.append(Family(name.prefix, name.shift, name.suffix, attempt, bounded))
        return found


def divide_probe(command: ProbeCommand, slots: int) -> tuple[dict[str, Any], list[bytes]]:
    """The common part, and the part of each slot."""
    visits, families = _Visits(command, slots), _Families()
    merging = {file: number for number, merge in enumerate(command.merges) for file in merge.files}
    shared: list[Block] = []
    rows: list[tuple[int, int, int]] = []
    counts = [0] * slots
    merged: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for block in command.blocks:
        needed = visits.of(block)
        if needed is None:
            shared.append(block)
            continue
        for slot in needed:
            if block.file in merging:
                merged[slot].append((merging[block.file], INPUT, counts[slot]))
            rows.append((slot, *families.add(block, slot)))
            counts[slot] += 1
    for number, merge in enumerate(command.merges):
        for part in merge.copied:
            needed = visits.of(part)
            for slot in range(slots) if needed is None else needed:
                merged[slot].append((number, PART, counts[slot]))
                rows.append((slot, *families.add(part, slot)))
                counts[slot] += 1
    own, bases = _own_parts(rows, counts)
    heads = list(dict.fromkeys(_head(merge) for merge in command.merges))
    common = {
        "command": to_compact(replace(command, blocks=(), merges=(), gathers=(), visits=())),
        "shared": pack(Block, shared, ("rows", "size", "copies")),
        "families": families.all(bases),
        "heads": heads,
        "visits": bool(command.visits),
        "gathers": [_with_places(gather, shared) for gather in command.gathers],
        "merges": [
            [number, *found] for number, merge in enumerate(command.merges) if (found := _with_places(merge, shared))[1]
        ],
    }
    parts = _with_merges(own, command.merges, heads, merged)
    return common, [first + rest for first, rest in zip(visit_parts(command, slots), parts, strict=True)]


def _with_merges(
    own: list[bytes],
    merges: Sequence[Merge],
    heads: Sequence[Merge],
    merged: dict[int, list[tuple[int, int, int]]],
) -> list[bytes]:
    """The parts of the slots with their merges: by slot, the number of a merge, a block's role, and its place."""
    numbers = {head: number for number, head in enumerate(heads)}
    kinds = [numbers[_head(merge)] for merge in merges]
    for slot, entries in merged.items():
        used = [(number, merges[number]) for number in dict.fromkeys(entry[0] for entry in entries)]
        spans = [(number, kinds[number], merge.first, merge.last, merge.slices) for number, merge in used]
        count, _, width = HEADER.unpack_from(own[slot])
        content = own[slot][HEADER.size :]
        own[slot] = b"".join((HEADER.pack(count, len(spans), width), content, _to_bytes(spans), _to_bytes(entries)))
    return own


def _to_bytes(rows: Sequence[tuple[int, ...]]) -> bytes:
    return np.array(rows, "<u4").tobytes()


def _head(merge: Merge) -> Merge:
    """What merges of several slots have in common."""
    return replace(merge, files=(), parts=(), number=0, first=0, last=1, slices=1)


def join_probe(common: dict[str, Any]) -> Callable[[bytes, int], ProbeCommand]:
    """The function that makes the command of a slot, from what all slots share."""
    command = from_compact(ProbeCommand, common["command"])
    shared = unpack(Block, common["shared"])
    families = from_json(tuple[Family, ...], common["families"])
    heads = from_json(tuple[Merge, ...], common["heads"])
    gathers = tuple(_merge_of(entry, shared) for entry in common["gathers"])
    merges = {number: _merge_of(entry, shared) for number, *entry in common["merges"]}

    def joined(own: bytes, slot: int) -> ProbeCommand:
        visits, rest = read_visits(own) if common["visits"] else ((), own)
        blocks, spans, entries = _read_own(rest, families, slot)
        found = dict(merges)
        for number, head, first, last, slices in spans:
            found.setdefault(number, replace(heads[head], number=number, first=first, last=last, slices=slices))
        files: dict[int, list[str]] = defaultdict(list)
        parts: dict[int, list[Block]] = defaultdict(list)
        for number, role, place in entries:
            if role == INPUT:
                files[number].append(blocks[place].file)
            else:
                parts[number].append(blocks[place])
        own_merges = tuple(
            replace(merge, files=(*merge.files, *files[number]), parts=tuple(parts[number]))
            for number, merge in sorted(found.items())
            if merge.files or files[number]
        )
        unread = {place for _, role, place in entries if role == PART}
        read = (block for place, block in enumerate(blocks) if place not in unread)
        return replace(command, blocks=(*shared, *read), gathers=gathers, merges=own_merges, visits=visits)

    return joined


def divide_rounds(command: RoundsCommand, slots: int) -> tuple[dict[str, Any], list[bytes]]:
    """The common part, and the part of each slot."""
    first, *others = command.probes
    common, own = divide_probe(first, slots)
    return {"first": common, "others": [to_compact(replace(other, blocks=())) for other in others]}, own


def join_rounds(common: dict[str, Any]) -> Callable[[bytes, int], RoundsCommand]:
    """The function that makes the command of a slot, from what all slots share."""
    join_first = join_probe(common["first"])
    others = [from_compact(ProbeCommand, other) for other in common["others"]]

    def joined(own: bytes, slot: int) -> RoundsCommand:
        first = join_first(own, slot)
        return RoundsCommand(first.step, first.run, (first, *(other.seeing(first.blocks) for other in others)))

    return joined


class _Visits:
    """Which slots need a block: those of its units, or None: all."""

    def __init__(self, command: ProbeCommand, slots: int) -> None:
        streams = len(command.join_orders)
        self._admission = command.admission
        self._slots = slots_of_units(command.layouts, streams, slots)
        starts = [command.rounds - len(order) for order in command.join_orders]
        # Later rounds start from exchanged rows.
        self._starting = {
            stream for stream, start in enumerate(starts) if command.first_round <= start <= command.last_round
        }

    def of(self, block: Block) -> list[int] | None:
        units = block.units
        if units is None or (block.stream in self._starting and self._admission.starting(block) is not None):
            return None
        if len(units) == 1:
            return list(self._slots[block.epoch, units[0]])
        return sorted({slot for unit in units for slot in self._slots[block.epoch, unit]})


def _own_parts(rows: list[tuple[int, int, int]], counts: list[int]) -> tuple[list[bytes], list[int]]:
    """The families and attempts of each slot's blocks as bytes, and the smallest attempt of each family."""
    slots, families, attempts = np.array(rows, np.int64).reshape(-1, 3).T
    bases = np.full(families.max(initial=-1) + 1, np.iinfo(np.int64).max)
    np.minimum.at(bases, families, attempts)
    counted = attempts - bases[families]
    width = 2 if counted.max(initial=0) < 1 << 16 else 8
    order = np.argsort(slots, kind="stable")
    numbers, counted = families[order].astype("<u4"), counted[order].astype(f"<u{width}")
    own, start = [], 0
    for count in counts:
        stop = start + count
        own.append(HEADER.pack(count, 0, width) + numbers[start:stop].tobytes() + counted[start:stop].tobytes())
        start = stop
    return own, bases.tolist()


def _read_own(
    own: bytes, families: tuple[Family, ...], slot: int
) -> tuple[list[Block], list[list[int]], list[list[int]]]:
    """The blocks of a slot; its merges by number, kind and slices; and which block has which role in which merge."""
    count, merges, width = HEADER.unpack_from(own)
    numbers = np.frombuffer(own, "<u4", count, HEADER.size)
    at = HEADER.size + 4 * count
    attempts = np.frombuffer(own, f"<u{width}", count, at)
    at += width * count
    spans = np.frombuffer(own, "<u4", 5 * merges, at).reshape(-1, 5)
    entries = np.frombuffer(own, "<u4", -1, at + 20 * merges).reshape(-1, 3)
    pairs = zip(numbers.tolist(), attempts.tolist(), strict=True)
    return [families[number].member(slot, attempt) for number, attempt in pairs], spans.tolist(), entries.tolist()


def _with_places(merge: Merge, shared: list[Block]) -> tuple[Merge, str]:
    """A merge without its files, and which of the shared blocks they are; empty if none is."""
    files = set(merge.files)
    places = [place for place, block in enumerate(shared) if block.file in files]
    writer = ColumnWriter()
    writer.numbers(places)
    return replace(merge, files=(), parts=()), writer.to_text() if places else ""


def _merge_of(entry: Sequence[Any], shared: tuple[Block, ...]) -> Merge:
    head, places = from_json(Merge, entry[0]), entry[1]
    found = ColumnReader.of_text(places).integers() if places else []
    return replace(head, files=tuple(shared[place].file for place in found))


# Blocks live for several steps, and a step may have some thousand of them.
@lru_cache(maxsize=1 << 15)
def _named(file: str, units: tuple[int, ...] | None, slot: int) -> tuple[_Name, int]:
    """What a block has in common with others as one of a slot, and the attempt of the task that wrote it."""
    found = OWN_FILE.fullmatch(file)
    relative = None if units is None else tuple(unit - slot for unit in units)
    if found is None:
        return _name(file, None, "", relative), 0
    return _name(found[1], int(found[2]) - slot, found[4] or "", relative), int(found[3])


_names: WeakValueDictionary[tuple[Any, ...], _Name] = WeakValueDictionary()


def _name(*fields: Any) -> _Name:
    name = _names.get(fields)
    if name is None:
        name = _names[fields] = _Name(*fields)
    return name
