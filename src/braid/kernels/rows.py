"""Rows: named Arrow columns of equal length, converted to vectors on demand.

`Pairs` is two `Rows` and the matched positions; it gathers only the columns that are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.kernels import sizes
from braid.kernels.expressions.vectors import Vector, to_vector
from braid.kernels.sizes import Sizes, byte_cuts, total_bytes, value_sizes
from braid.plan.join import JoinPlan

Positions = npt.NDArray[np.int64]


class Rows:
    """Columns by flat name; `types` gives Spark's simple type of each."""

    def __init__(self, columns: Mapping[str, pa.Array], types: Mapping[str, str], length: int) -> None:
        self.columns = columns
        self.types = types
        self.length = length
        self._vectors: dict[str, Vector] = {}
        self._sizes: dict[str, tuple[Sizes | int, int]] = {}

    @staticmethod
    def from_batch(batch: pa.RecordBatch, types: Mapping[str, str]) -> Rows:
        return Rows(dict(zip(batch.schema.names, batch.columns, strict=True)), types, batch.num_rows)

    def vector(self, name: str) -> Vector:
        found = self._vectors.get(name)
        if found is None:
            found = self._vectors[name] = to_vector(self.columns[name], self.types[name])
        return found

    def array(self, name: str) -> pa.Array:
        return self.columns[name]

    def has(self, name: str) -> bool:
        return name in self.columns

    def times(self, name: str) -> npt.NDArray[np.int64]:
        """An event-time column as microseconds; stored rows have no null times."""
        return np.asarray(self.vector(name).values)

    @property
    def nbytes(self) -> int:
        """The bytes of all rows."""
        return total_bytes(self.columns.values())

    def size_of(self, name: str) -> tuple[Sizes | int, int]:
        """The bytes of the values of a column, and of the largest."""
        found = self._sizes.get(name)
        if found is None:
            own = value_sizes(self.columns[name])
            found = self._sizes[name] = (own, own if isinstance(own, int) else int(own.max(initial=0)))
        return found

    @cached_property
    def largest_row(self) -> int:
        """An upper bound of the bytes of a row."""
        return sum(self.size_of(name)[1] for name in self.columns)

    def pieces(self) -> Iterator[Rows]:
        """The rows in pieces of bounded size."""
        if self.nbytes <= sizes.piece_bytes():
            yield self
            return
        for cut in byte_cuts(sizes.row_sizes(self.columns.values(), self.length)):
            yield self.slice(cut.start, cut.stop)

    def slice(self, start: int, stop: int) -> Rows:
        columns = {name: column.slice(start, stop - start) for name, column in self.columns.items()}
        return Rows(columns, self.types, stop - start)

    def take(self, positions: Positions) -> Rows:
        indices = pa.array(positions)
        columns = {name: column.take(indices) for name, column in self.columns.items()}
        return Rows(columns, self.types, len(positions))

    def to_batch(self, names: Iterable[str] | None = None) -> pa.RecordBatch:
        chosen = list(self.columns if names is None else names)
        return pa.RecordBatch.from_arrays([self.columns[name] for name in chosen], names=chosen)


def concat_rows(parts: Sequence[Rows]) -> Rows:
    """All rows of all parts. A column that some do not have is NULL there: a row has its payload or an address."""
    if len(parts) == 1:
        return parts[0]
    columns = {name: pa.concat_arrays(_of_all(parts, name)) for name in _names_of(parts)}
    return Rows(columns, parts[0].types, sum(part.length for part in parts))


def _names_of(parts: Sequence[Rows]) -> Iterable[str]:
    first = parts[0].columns
    if all(part.columns.keys() == first.keys() for part in parts):
        return first
    return dict.fromkeys(name for part in parts for name in part.columns)


def _of_all(parts: Sequence[Rows], name: str) -> list[pa.Array]:
    known = [part.columns[name] if part.has(name) else None for part in parts]
    kind = next(column.type for column in known if column is not None)
    return [pa.nulls(p.length, kind) if c is None else c for p, c in zip(parts, known, strict=True)]


class Pairs:
    """Pairs of row `left_positions[i]` of one side and row `right_positions[i]` of the other."""

    def __init__(self, left: Rows, right: Rows, left_positions: Positions, right_positions: Positions) -> None:
        self.left = left
        self.right = right
        self.left_positions = left_positions
        self.right_positions = right_positions

    @property
    def length(self) -> int:
        return len(self.left_positions)

    def vector(self, name: str) -> Vector:
        if name in self.left.columns:
            return gather(self.left.vector(name), self.left_positions)
        return gather(self.right.vector(name), self.right_positions)

    def array(self, name: str) -> pa.Array:
        side, positions = (
            (self.left, self.left_positions) if name in self.left.columns else (self.right, self.right_positions)
        )
        return side.columns[name].take(pa.array(positions))

    def has(self, name: str) -> bool:
        return name in self.left.columns or name in self.right.columns

    def times(self, name: str) -> npt.NDArray[np.int64]:
        """Event times in microseconds."""
        if name in self.left.columns:
            return self.left.times(name)[self.left_positions]
        return self.right.times(name)[self.right_positions]

    def where(self, mask: npt.NDArray[np.bool_]) -> Pairs:
        if mask.all():
            return self
        return Pairs(self.left, self.right, self.left_positions[mask], self.right_positions[mask])

    def detached(self) -> Pairs:
        """The same pairs with stored rows of their own, which do not keep a segment open."""
        return Pairs(self.left, self.right.take(self.right_positions), self.left_positions, np.arange(self.length))

    def pieces(self, names: Collection[str] | None = None, constant: int = 0) -> Iterator[Pairs]:
        """The pairs in pieces of bounded size when the named columns, or all, are gathered.

        `constant` is the number of additional bytes per pair.
        """
        if self.length * (constant + self.left.largest_row + self.right.largest_row) <= sizes.piece_bytes():
            yield self
            return
        sides = [(self.left, self.left_positions), (self.right, self.right_positions)]
        read = [(rows.size_of(name), at) for rows, at in sides for name in rows.columns if _among(name, names)]
        if self.length * (constant + sum(largest for (_, largest), _ in read)) <= sizes.piece_bytes():
            yield self
            return
        pair_sizes = np.full(self.length, constant, np.int64)
        for (own, _), positions in read:
            pair_sizes += own if isinstance(own, int) else own[positions]
        for cut in byte_cuts(pair_sizes):
            yield Pairs(self.left, self.right, self.left_positions[cut], self.right_positions[cut])

    def slice(self, start: int, stop: int) -> Pairs:
        return Pairs(self.left, self.right, self.left_positions[start:stop], self.right_positions[start:stop])

    def to_rows(self) -> Rows:
        """The pairs as rows with the columns of both sides."""
        names = [*self.left.columns, *self.right.columns]
        columns = {name: self.array(name) for name in names}
        return Rows(columns, {**self.left.types, **self.right.types}, self.length)


class _TakenColumns(Mapping[str, pa.Array]):
    """The stored rows of several lookups; a column is gathered when it is read."""

    def __init__(self, parts: Sequence[Pairs]) -> None:
        self._parts = parts
        self._taken: dict[str, pa.Array] = {}

    def __getitem__(self, name: str) -> pa.Array:
        found = self._taken.get(name)
        if found is None:
            arrays = [part.right.columns[name].take(pa.array(part.right_positions)) for part in self._parts]
            found = self._taken[name] = pa.concat_arrays(arrays)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._parts[0].right.columns)

    def __len__(self) -> int:
        return len(self._parts[0].right.columns)


def pairs_together(found: Iterable[Pairs], most: int) -> Iterator[Pairs]:
    """Small adjacent lookups of the same probing rows as one of at most `most` pairs; larger ones unchanged."""
    buffered: list[Pairs] = []
    rows = size = 0
    for pairs in found:
        own = pairs.length * (pairs.left.largest_row + pairs.right.largest_row)
        alike = bool(buffered) and pairs.left is buffered[0].left and _alike(pairs.right, buffered[0].right)
        if buffered and (not alike or rows + pairs.length > most or size + own > sizes.piece_bytes()):
            yield _one(buffered)
            buffered, rows, size = [], 0, 0
        buffered.append(pairs)
        rows, size = rows + pairs.length, size + own
    if buffered:
        yield _one(buffered)


def _alike(one: Rows, other: Rows) -> bool:
    """Whether both have the same columns."""
    return one.types == other.types and one.columns.keys() == other.columns.keys()


def _one(parts: Sequence[Pairs]) -> Pairs:
    if len(parts) == 1:
        return parts[0]
    positions = np.concatenate([part.left_positions for part in parts])
    right = Rows(_TakenColumns(parts), parts[0].right.types, len(positions))
    return Pairs(parts[0].left, right, positions, np.arange(len(positions)))


def possible_rows(plan: JoinPlan, number: int, rows: Rows) -> Rows:
    """The rows that can be in a result: rows stored by an earlier query may have NULLs where this one allows none."""
    required = plan.streams[number].required if number < len(plan.streams) else ()
    # What a pushed selection alone reads is required at ingest, but not stored.
    columns = [rows.columns[name] for name in required if name in rows.columns and rows.columns[name].null_count]
    if not columns:
        return rows
    known = [column.is_valid().to_numpy(zero_copy_only=False) for column in columns]
    return rows.take(np.flatnonzero(np.logical_and.reduce(known)))


def row_groups(parts: Iterable[Rows]) -> Iterator[Rows]:
    """Adjacent parts, concatenated up to a bounded size."""
    buffered: list[Rows] = []
    size = 0
    for part in parts:
        for piece in part.pieces():
            if buffered and size + piece.nbytes > sizes.piece_bytes():
                yield concat_rows(buffered)
                buffered, size = [], 0
            buffered.append(piece)
            size += piece.nbytes
    if buffered:
        yield concat_rows(buffered)


def _among(name: str, names: Collection[str] | None) -> bool:
    return names is None or name in names


def gather(vector: Vector, positions: Positions) -> Vector:
    """The elements of a vector at the given positions."""
    values: Any = vector.values
    taken = values.take(positions) if isinstance(values, np.ndarray) else values.take(pa.array(positions))
    return Vector(taken, None if vector.valid is None else vector.valid.take(positions))
