"""Columns of whole numbers and of texts as few bytes: for records and commands with an entry per slot.

Entries of one family differ little: their names in slot and attempt, their times by less than a step. So a column of
numbers is stored as differences from its smallest value or from one entry to the next, whichever is narrower, and all
columns are compressed together. Texts become a format and columns of the numbers in them.
"""

from __future__ import annotations

import base64
import json
import re
import struct
import zlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]

# Longer ones might not fit into 64 bits.
MAX_DIGITS = 18
DIGITS = re.compile(rf"([0-9]{{1,{MAX_DIGITS}}})")
# How a column is stored, the bytes of an entry, the number of entries, and what they are differences from.
HEADER = struct.Struct("<BBIq")
PLAIN, STEPS, AS_TEXT = 0, 1, 2
WIDTHS = (1, 2, 4, 8)
# Names of files differ in length by the digits of an attempt; more lengths are texts of another kind.
MAX_LENGTHS = 8
# Names of tasks begin with eight characters of their run.
RUN = 9


class ColumnWriter:
    """Collects columns, in the order in which they are read."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def numbers(self, values: Sequence[int] | Numbers) -> None:
        try:
            column = np.asarray(values, np.int64)
        except OverflowError:  # instants just beyond the ends of the 64 bits mean always and never
            content = json.dumps(list(values)).encode()
            self._parts += [HEADER.pack(AS_TEXT, 0, len(content), 0), content]
            return
        if not len(column):
            self._parts.append(HEADER.pack(PLAIN, 0, 0, 0))
            return
        base = int(column.min())
        plain = (column - base).view(np.uint64)
        between = np.diff(column)
        steps = ((between << 1) ^ (between >> 63)).view(np.uint64)
        width, width_of_steps = _width(plain), _width(steps)
        if width_of_steps < width:
            self._add(STEPS, width_of_steps, len(column), int(column[0]), steps)
        else:
            self._add(PLAIN, width, len(column), base, plain)

    def texts(self, values: Sequence[str]) -> None:
        """Texts of equal format share it; the numbers in them are columns."""
        pairs = _split_alike(values) or list(map(_split, values))
        places = {shape: place for place, shape in enumerate(dict.fromkeys([shape for shape, _ in pairs]))}
        kinds = [places[shape] for shape, _ in pairs]
        self.numbers(kinds)
        known = json.dumps(list(places)).encode()
        self._parts += [len(known).to_bytes(4, "little"), known]
        formats: list[list[tuple[int, ...]]] = [[] for _ in places]
        for kind, (_, numbers) in zip(kinds, pairs, strict=True):
            formats[kind].append(numbers)
        for rows in formats:
            for column in np.array(rows, np.int64).T if rows[0] else ():
                self.numbers(column)

    def to_bytes(self) -> bytes:
        return zlib.compress(b"".join(self._parts), 6)

    def to_text(self) -> str:
        return base64.b64encode(self.to_bytes()).decode()

    def _add(self, kind: int, width: int, count: int, base: int, values: npt.NDArray[np.uint64]) -> None:
        self._parts.append(HEADER.pack(kind, width, count, base))
        if width:
            # The bytes of equal weight together: the high ones are mostly equal, and compress to nothing.
            narrow = values.astype(f"<u{width}")
            self._parts.append(narrow.view(np.uint8).reshape(-1, width).T.tobytes())


class ColumnReader:
    """Reads the columns of a writer in the same order."""

    def __init__(self, data: bytes) -> None:
        self._data = zlib.decompress(data)
        self._at = 0

    @classmethod
    def of_text(cls, text: str) -> ColumnReader:
        return cls(base64.b64decode(text))

    def integers(self) -> list[int]:
        """A column of numbers of any size."""
        return list(self.numbers().tolist())

    def numbers(self) -> npt.NDArray[Any]:
        """A column of 64-bit numbers; Python's own if one does not fit."""
        kind, width, count, base = HEADER.unpack(self._take(HEADER.size))
        if kind == AS_TEXT:
            return np.array(json.loads(self._take(count)), object)
        entries = max(0, count - 1) if kind == STEPS else count
        values = np.zeros(entries, np.uint64)
        if width:
            weights = np.frombuffer(self._take(entries * width), np.uint8).reshape(width, entries)
            values = np.ascontiguousarray(weights.T).view(f"<u{width}").ravel().astype(np.uint64)
        if kind == PLAIN:
            return values.view(np.int64) + np.int64(base)
        between = (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
        return np.concatenate((np.array([base], np.int64), between)).cumsum()

    def texts(self) -> list[str]:
        kinds = self.integers()
        known = json.loads(self._take(int.from_bytes(self._take(4), "little")))
        counts = np.bincount(np.array(kinds, np.int64), minlength=len(known)).tolist()
        rows: list[Iterator[str]] = []
        for shape, count in zip(known, counts, strict=True):
            columns = [self.integers() for _ in range(_fields(shape))]
            numbers = zip(*columns, strict=True) if columns else repeat((), count)
            rows.append(iter([shape % row for row in numbers]))
        return [next(rows[kind]) for kind in kinds]

    def _take(self, length: int) -> bytes:
        data = self._data[self._at : self._at + length]
        if len(data) < length:
            raise ValueError("packed columns end too early")
        self._at += length
        return data


def _width(values: npt.NDArray[np.uint64]) -> int:
    """The bytes that the largest value needs: none where all values are zero."""
    largest = int(values.max()) if len(values) else 0
    return 0 if largest == 0 else next(width for width in WIDTHS if largest < 1 << (8 * width))


def _split_alike(texts: Sequence[str]) -> list[tuple[str, tuple[int, ...]]] | None:
    """Texts as formats and numbers, if those of equal length differ in digits only; all texts of a length at once."""
    by_length: dict[int, list[int]] = {}
    for place, text in enumerate(texts):
        by_length.setdefault(len(text), []).append(place)
    if len(by_length) > MAX_LENGTHS or "".join(texts).find("%") >= 0:
        return None
    found: list[tuple[str, tuple[int, ...]]] = [("", ())] * len(texts)
    for places in by_length.values():
        alike = _fields_alike([texts[place] for place in places])
        if alike is None:
            return None
        shape, rows = alike
        for place, row in zip(places, rows, strict=True):
            found[place] = (shape, row)
    return found


def _fields_alike(texts: Sequence[str]) -> tuple[str, list[tuple[int, ...]]] | None:
    """The format and the numbers of texts of one length; None if they differ in more than digits."""
    data = "".join(texts).encode()
    width = len(texts[0])
    if len(data) != width * len(texts) or not width:
        return None  # characters of several bytes
    letters = np.frombuffer(data, np.uint8).reshape(len(texts), width)
    varying = (letters != letters[0]).any(axis=0)
    digits = letters[:, varying]
    if (digits < ord("0")).any() or (digits > ord("9")).any():
        return None
    edges = np.flatnonzero(np.diff(varying.astype(np.int8), prepend=0, append=0))
    shape, columns, at = "", [], 0
    for first, last in edges.reshape(-1, 2).tolist():
        if last - first > MAX_DIGITS:
            return None
        weights = 10 ** np.arange(last - first - 1, -1, -1, dtype=np.int64)
        columns.append((letters[:, first:last].astype(np.int64) - ord("0")) @ weights)
        shape += f"{texts[0][at:first]}%0{last - first}d"
        at = last
    rows: list[tuple[int, ...]] = [()] * len(texts)
    if columns:
        rows = list(zip(*[column.tolist() for column in columns], strict=True))
    return shape + texts[0][at:], rows


@lru_cache(maxsize=1 << 15)
def _split(text: str) -> tuple[str, tuple[int, ...]]:
    """The format of a text and the numbers in it, in the order in which `%` puts them back."""
    # The id of a run at the beginning is one text, whichever of its characters are digits.
    run = text[:RUN] if text[RUN - 1 : RUN] == "-" else ""
    pieces = DIGITS.split(text[len(run) :].replace("%", "%%"))
    digits = pieces[1::2]
    pieces[1::2] = [f"%0{len(part)}d" if part[0] == "0" else "%d" for part in digits]
    return run.replace("%", "%%") + "".join(pieces), tuple(map(int, digits))


def _fields(shape: str) -> int:
    return shape.replace("%%", "").count("%")
