"""Segments that are opened when rows look them up: whole if there is room, in parts, or several small ones as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, overload

from braid.engine.tasks.lookup.row_ranges import Part
from braid.kernels.ordering import SortedIndex
from braid.kernels.probing import StoredSegment
from braid.plan.expressions import Expression
from braid.state.blocks import Segment


@dataclass(frozen=True)
class Place:
    """A segment of a block, and the order in which rows of a stream look it up."""

    file: str
    segment: Segment
    stream: int
    choices: tuple[int, ...]
    is_sorted: bool


class Opening(Protocol):
    """What opens segments."""

    def parts_of(self, place: Place) -> Iterator[StoredSegment]: ...
    def largest_of(self, place: Place, number: Expression) -> float: ...
    def index_of(self, place: Place) -> SortedIndex: ...
    def joined(self, rows: JoinedRows) -> StoredSegment: ...


@dataclass(frozen=True)
class UnopenedSegment:
    """A segment that is read only while rows look it up."""

    store: Opening
    place: Place
    grouped: bool

    @property
    def length(self) -> int:
        return self.place.segment.rows

    @property
    def min_time(self) -> int:
        return self.place.segment.min_time

    @property
    def max_time(self) -> int:
        return self.place.segment.max_time

    @property
    def choices(self) -> tuple[int, ...]:
        return self.place.choices

    def largest(self, number: Expression) -> float:
        return self.store.largest_of(self.place, number)

    def parts(self) -> Iterable[StoredSegment]:
        return self.store.parts_of(self.place)


@dataclass(frozen=True)
class JoinedRows:
    """Parts of the segments of one block, looked up as one: each has the rows of few partition groups.

    The groups ascend from part to part, so the rows together are sorted.
    """

    store: Opening
    ranges: tuple[Part, ...]
    stream: int
    choices: tuple[int, ...]

    grouped = True

    @property
    def length(self) -> int:
        return sum(stop - start for _, _, (start, stop) in self.ranges)

    @property
    def min_time(self) -> int:
        return min(part.segment.min_time for part in self.ranges)

    @property
    def max_time(self) -> int:
        return max(part.segment.max_time for part in self.ranges)

    def largest(self, number: Expression) -> float:
        return self.store.joined(self).largest(number)

    def parts(self) -> Iterable[StoredSegment]:
        return (self.store.joined(self),)


class UnopenedRuns(Sequence[SortedIndex]):
    """Sorted runs of a merge, each opened when it is asked for: their keys together may be more than the limit."""

    def __init__(self, store: Opening, places: Sequence[Place]) -> None:
        self._store = store
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, number: int) -> SortedIndex: ...
    @overload
    def __getitem__(self, number: slice) -> Sequence[SortedIndex]: ...
    def __getitem__(self, number: int | slice) -> SortedIndex | Sequence[SortedIndex]:
        if isinstance(number, slice):
            return UnopenedRuns(self._store, self._places[number])
        return self._store.index_of(self._places[number])
