"""The characters of strings, as Spark counts them: any bytes are allowed, and the first one says how many there are.

For valid UTF-8 these are code points. A byte that cannot begin a character is one of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from braid.kernels.expressions.vectors import Array, Mask, Vector

_WIDTHS = np.ones(256, np.int64)
_WIDTHS[0xC2:0xE0], _WIDTHS[0xE0:0xF0], _WIDTHS[0xF0:0xF5] = 2, 3, 4


@dataclass(frozen=True)
class Texts:
    """Strings as ranges of bytes. A literal is one range, which broadcasts to any number of strings."""

    data: Array
    starts: Array
    stops: Array
    is_utf8: bool

    @property
    def sizes(self) -> Array:
        return self.stops - self.starts

    @cached_property
    def is_ascii(self) -> bool:
        return bool((self.data < 0x80).all())

    @cached_property
    def counts(self) -> Array:
        """The numbers of characters."""
        found: Array = self.sizes if self.is_ascii else self._ranks[self.stops] - self._ranks[self.starts]
        return found

    def byte_of(self, characters: Array) -> Array:
        """Where the n-th character of each string begins; its end for all from the last on."""
        wanted = np.clip(characters, 0, self.counts)
        if self.is_ascii:
            place: Array = self.starts + wanted
            return place
        found = self._heads[self._ranks[self.starts] + wanted]
        return np.where(wanted >= self.counts, self.stops, found)

    def codes(self, rows: Array, places: Array) -> Array:
        """The characters at some places of some strings, as numbers that are equal only for equal characters."""
        if self.is_ascii:
            found: Array = self.data[self.starts[rows] + places].astype(np.uint32)
            return found
        heads = self._heads[self._ranks[self.starts[rows]] + places]
        ends = np.minimum(heads + _WIDTHS[self.data[heads]], self.stops[rows])
        # The first byte says how many there are, so no character is the end of another.
        codes: Array = self.data[heads].astype(np.uint32)
        for byte in range(1, 4):
            inside = heads + byte < ends
            more = (codes << np.uint32(8)) | self.data[np.where(inside, heads + byte, 0)]
            codes = np.where(inside, more, codes)
        return codes

    @cached_property
    def _first_bytes(self) -> Mask:
        if self.is_utf8:
            return np.asarray((self.data & 0xC0) != 0x80)
        found, places = np.zeros(len(self.data), np.bool_), self.starts
        rows = np.flatnonzero(places < self.stops)
        places = places[rows]
        while len(rows):
            found[places] = True
            places = places + _WIDTHS[self.data[places]]
            left = places < self.stops[rows]
            rows, places = rows[left], places[left]
        return found

    @cached_property
    def _ranks(self) -> Array:
        """The number of characters before each byte."""
        return np.concatenate([[0], np.cumsum(self._first_bytes)])

    @cached_property
    def _heads(self) -> Array:
        """Where each character begins; one place more, which is never used."""
        return np.append(np.flatnonzero(self._first_bytes), 0)


def texts_of(vector: Vector) -> Texts:
    values = vector.values
    if isinstance(values, pa.Scalar):
        data = np.frombuffer(values.as_py().encode() if values.is_valid else b"", np.uint8)
        return Texts(data, np.zeros(1, np.int64), np.array([len(data)]), True)
    width = np.int64 if pa.types.is_large_string(values.type) else np.int32
    _, offsets, buffer = values.buffers()
    edges = np.frombuffer(offsets, width)[values.offset : values.offset + len(values) + 1].astype(np.int64)
    data = np.zeros(0, np.uint8) if buffer is None else np.frombuffer(buffer, np.uint8)[edges[0] : edges[-1]]
    edges = edges - edges[0]
    return Texts(data, edges[:-1], edges[1:], _is_valid(values))


def _is_valid(values: pa.Array) -> bool:
    try:
        values.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def cut(texts: Texts, starts: Array, stops: Array, valid: Mask | None) -> Vector:
    """New strings from ranges of bytes."""
    starts, stops = np.broadcast_arrays(starts, stops)
    sizes = stops - starts
    edges = np.concatenate([[0], np.cumsum(sizes)])
    data = texts.data[_places(starts, sizes, edges)]
    nulls: Any = None if valid is None else pa.array(np.broadcast_to(valid, sizes.shape)).buffers()[1]
    large = edges[-1] > np.iinfo(np.int32).max
    buffers = [nulls, pa.py_buffer(edges.astype(np.int64 if large else np.int32)), pa.py_buffer(data)]
    kind = pa.large_string() if large else pa.string()
    return Vector(pa.Array.from_buffers(kind, len(sizes), buffers), valid)


def equal_bytes(left: Texts, left_starts: Array, right: Texts, sizes: Array) -> Mask:
    """Whether the bytes of left strings from given places on are those with which right strings begin."""
    left_starts, right_starts, sizes = np.broadcast_arrays(left_starts, right.starts, sizes)
    edges = np.concatenate([[0], np.cumsum(sizes)])
    mine = left.data[_places(left_starts, sizes, edges)]
    theirs = right.data[_places(right_starts, sizes, edges)]
    different = np.concatenate([[0], np.cumsum(mine != theirs)])
    found: Mask = different[edges[1:]] == different[edges[:-1]]
    return found


def _places(starts: Array, sizes: Array, edges: Array) -> Array:
    """The numbers from each start on, as many as its size."""
    return np.repeat(starts - edges[:-1], sizes) + np.arange(edges[-1])
