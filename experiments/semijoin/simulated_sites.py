"""Two sites that join two streams by the six algorithms of semijoins, row by row, with every message counted.

A site sees only its own stream and the messages that it receives: rows, join values and counts, whose bytes are added
up as they are sent. Nothing here is shared with the formulas of the optimizer: this is what they are checked against.
Batch b has the rows of event times b I <= t < (b + 1) I, where I is the interval. A row r of the source matches a row s
of the stored stream if their values are equal and r.time - window <= s.time <= r.time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

COUNT_SIZE = 8


@dataclass(frozen=True)
class Row:
    time: int
    value: object
    payload: object


Pair = tuple[Row, Row]


@dataclass(frozen=True)
class Setting:
    """Ticks of event time, and bytes of rows and values."""

    interval: int
    window: int
    source_row: int = 1
    source_value: int = 1
    stored_row: int = 1
    stored_value: int = 1


@dataclass
class Wire:
    """One direction of the link: every message is counted as it is sent."""

    sent_bytes: int = 0
    messages: int = 0
    log: list[object] = field(default_factory=list)

    def send(self, message: object, size: int) -> None:
        self.sent_bytes += size
        self.messages += 1
        self.log = [*self.log[-9:], message]


class Sites(Protocol):
    """The two sites under one algorithm."""

    forward: Wire
    backward: Wire

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        """The results of a batch of both streams."""

    def copy_size(self) -> int:
        """The bytes that the source keeps of the stored stream."""


def matches(setting: Setting, source: Row, stored: Row) -> bool:
    return source.value == stored.value and source.time - setting.window <= stored.time <= source.time


def brute_force(setting: Setting, source: Sequence[Row], stored: Sequence[Row]) -> Counter[Pair]:
    """Every pair of the whole input that matches."""
    return Counter((r, s) for r in source for s in stored if matches(setting, r, s))


class _Window:
    """Rows in the order of time, found by value."""

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self.rows: list[Row] = []
        self.by_value: dict[object, list[Row]] = {}
        self.add(rows)

    def add(self, rows: Sequence[Row]) -> None:
        self.rows = sorted([*self.rows, *rows], key=lambda row: row.time)
        for row in rows:
            self.by_value.setdefault(row.value, []).append(row)

    def expire(self, before: int) -> list[Row]:
        expired = [row for row in self.rows if row.time < before]
        self.drop_first(len(expired))
        return expired

    def drop_first(self, number: int) -> None:
        for row in self.rows[:number]:
            self.by_value[row.value].remove(row)
            if not self.by_value[row.value]:
                del self.by_value[row.value]
        self.rows = self.rows[number:]

    def join(self, setting: Setting, rows: Sequence[Row]) -> list[Pair]:
        return [(r, s) for r in rows for s in self.by_value.get(r.value, ()) if matches(setting, r, s)]


class _TwoSites:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.forward, self.backward = Wire(), Wire()
        self.stored = _Window()

    def oldest(self, number: int) -> int:
        """The smallest time that a batch can still match."""
        return number * self.setting.interval - self.setting.window

    def copy_size(self) -> int:
        return 0


class SimpleAtSource(_TwoSites):
    """SP-S. The source removes old rows by their times, as it has whole rows."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.copy = _Window()

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.stored.add(stored)
        self.stored.expire(self.oldest(number))
        if stored:
            self.backward.send(list(stored), len(stored) * self.setting.stored_row)
            self.copy.add(self.backward.log[-1])  # type: ignore[arg-type]  # a log has any message
        self.copy.expire(self.oldest(number))
        return self.copy.join(self.setting, source)

    def copy_size(self) -> int:
        return len(self.copy.rows) * self.setting.stored_row


class SimpleAtDestination(_TwoSites):
    """SP-D."""

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.stored.add(stored)
        self.stored.expire(self.oldest(number))
        if source:
            self.forward.send(list(source), len(source) * self.setting.source_row)
        return self.stored.join(self.setting, source)


class OneStepAtSource(_TwoSites):
    """SM-S1: algorithms 3, 7 and 8 of the paper."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.shipped: set[int] = set()
        self.copy = _Window()

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.stored.add(stored)
        expired = self.stored.expire(self.oldest(number))
        count = sum(id(row) in self.shipped for row in expired)
        self.shipped -= {id(row) for row in expired}
        if count:
            self.backward.send(count, COUNT_SIZE)
            self.copy.drop_first(count)
        values = sorted({row.value for row in source}, key=repr)
        if not values:
            return []
        self.forward.send(values, len(values) * self.setting.source_value)
        self.copy.add(self.answer(values))
        return self.copy.join(self.setting, source)

    def answer(self, values: Sequence[object]) -> list[Row]:
        found = [row for value in values for row in self.stored.by_value.get(value, ())]
        reply = [row for row in found if id(row) not in self.shipped]
        self.shipped |= {id(row) for row in reply}
        self.backward.send(reply, len(reply) * self.setting.stored_row)
        return reply

    def copy_size(self) -> int:
        return len(self.copy.rows) * self.setting.stored_row


@dataclass
class StoredEntry:
    """An entry of V2, where the stored stream is: a value, the number of its rows, whether they were fetched."""

    value: object
    count: int
    fetched: bool = False


@dataclass
class CopiedEntry:
    """An entry of M2 or of the copy of V2, at the source; `rows` is None until they were fetched."""

    value: object
    count: int = 0
    rows: list[Row] | None = None


@dataclass(frozen=True)
class Update:
    """The message that keeps the copy of the values up to date: v_J, v_C and s_F of the paper."""

    new_values: tuple[object, ...]
    counts: tuple[int, ...]
    full_rows: tuple[Row, ...]


class _CopiedValues(_TwoSites):
    """What SM-S2 and SM-D1 share: algorithm 9, with counts applied only to entries whose rows were fetched."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.entries: dict[object, StoredEntry] = {}
        self.copied: dict[object, CopiedEntry] = {}

    def update(self, number: int, stored: Sequence[Row]) -> None:
        self.stored.add(stored)
        expired = self.stored.expire(self.oldest(number))
        before = {value: entry.count for value, entry in self.entries.items()}
        update = self.collect(stored, expired)
        after = {value: entry.count for value, entry in self.entries.items()}
        # The counts of all entries are what the paper sends; here a value is sent with its count where that changed.
        changed = sum(before.get(value, 0) != after.get(value, 0) for value in {*before, *after})
        full = len(update.full_rows) * self.setting.stored_row
        if changed or full:
            self.backward.send(update, changed * (self.setting.stored_value + COUNT_SIZE) + full)
        self.apply(update)

    def collect(self, stored: Sequence[Row], expired: Sequence[Row]) -> Update:
        """At the site of the stored stream."""
        new_values, full_rows = [], []
        for row in stored:
            entry = self.entries.get(row.value)
            if entry is None:
                self.entries[row.value] = StoredEntry(row.value, 1)
                new_values.append(row.value)
            else:
                entry.count += 1
                full_rows += [row] if entry.fetched else []
        for row in expired:
            self.entries[row.value].count -= 1
        counts = tuple(entry.count for entry in self.entries.values())
        self.entries = {value: entry for value, entry in self.entries.items() if entry.count}
        return Update(tuple(new_values), counts, tuple(full_rows))

    def apply(self, update: Update) -> None:
        """At the source: entries are in the same order at both sites, so that counts need no values."""
        for value in update.new_values:
            self.copied[value] = CopiedEntry(value)
        kept = {}
        for entry, count in zip(self.copied.values(), update.counts, strict=True):
            if not count:
                continue
            kept[entry.value] = entry
            if entry.rows is None:
                continue
            rows = [*entry.rows, *(row for row in update.full_rows if row.value == entry.value)]
            entry.rows = rows[len(rows) - count :]
            entry.count = count
        self.copied = kept

    def copy_size(self) -> int:
        full = sum(len(entry.rows or ()) for entry in self.copied.values()) * self.setting.stored_row
        return len(self.copied) * (self.setting.stored_value + COUNT_SIZE) + full


class TwoStepAtSource(_CopiedValues):
    """SM-S2: algorithms 4, 7 and 9."""

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.update(number, stored)
        wanted = {row.value for row in source if row.value in self.copied and self.copied[row.value].rows is None}
        if wanted:
            values = sorted(wanted, key=repr)
            self.forward.send(values, len(values) * self.setting.stored_value)
            self.receive(self.answer(values))
        found = [(row, self.copied[row.value].rows or []) for row in source if row.value in self.copied]
        return [(r, s) for r, rows in found for s in rows if matches(self.setting, r, s)]

    def answer(self, values: Sequence[object]) -> list[Row]:
        reply = []
        for value in values:
            assert not self.entries[value].fetched
            self.entries[value].fetched = True
            reply += self.stored.by_value[value]
        self.backward.send(reply, len(reply) * self.setting.stored_row)
        return reply

    def receive(self, rows: Sequence[Row]) -> None:
        for row in rows:
            entry = self.copied[row.value]
            entry.rows = [*(entry.rows or []), row]
            entry.count += 1


class OneStepAtDestination(_CopiedValues):
    """SM-D1: algorithm 5."""

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.update(number, stored)
        reduced = [row for row in source if row.value in self.copied]
        if reduced:
            self.forward.send(reduced, len(reduced) * self.setting.source_row)
        return self.stored.join(self.setting, reduced)


class TwoStepAtDestination(_TwoSites):
    """SM-D2: algorithm 6."""

    def step(self, number: int, source: Sequence[Row], stored: Sequence[Row]) -> list[Pair]:
        self.stored.add(stored)
        self.stored.expire(self.oldest(number))
        values = sorted({row.value for row in source}, key=repr)
        if not values:
            return []
        self.forward.send(values, len(values) * self.setting.source_value)
        found = [value for value in values if value in self.stored.by_value]
        self.backward.send(found, len(found) * self.setting.source_value)
        reduced = [row for row in source if row.value in set(found)]
        if reduced:
            self.forward.send(reduced, len(reduced) * self.setting.source_row)
        return self.stored.join(self.setting, reduced)


SITES: dict[str, Callable[[Setting], Sites]] = {
    "SP-S": SimpleAtSource,
    "SP-D": SimpleAtDestination,
    "SM-S1": OneStepAtSource,
    "SM-S2": TwoStepAtSource,
    "SM-D1": OneStepAtDestination,
    "SM-D2": TwoStepAtDestination,
}
