"""The edit distance of strings by characters, for many pairs at once.

Myers' algorithm keeps a column of the distance matrix in the bits of two words, so one character of the longer string
costs some operations on words, for all pairs together. Pairs of two strings of more than 64 characters use the matrix.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from braid.kernels.expressions.characters import Texts, texts_of
from braid.kernels.expressions.vectors import Array, Vector, both_valid

_WORD = 64
# Pairs together: their characters stay in the CPU cache.
_PIECE = 4096


def levenshtein(left: Vector, right: Vector) -> Vector:
    one, other = texts_of(left), texts_of(right)
    rows = max(len(one.starts), len(other.starts))
    distances = np.zeros(rows, np.int32)
    for start in range(0, rows, _PIECE):
        piece = np.arange(start, min(start + _PIECE, rows))
        distances[piece] = _distances(one, other, piece)
    return Vector(distances, both_valid(left.valid, right.valid))


def _distances(one: Texts, other: Texts, rows: Array) -> Array:
    width = np.uint8 if one.is_ascii and other.is_ascii else np.uint32
    first, second = _matrix(one, rows, width), _matrix(other, rows, width)
    sizes, other_sizes = (texts.counts[_own(texts, rows)] for texts in (one, other))
    found = np.zeros(len(rows), np.int32)
    fits, fits_other = sizes <= _WORD, (sizes > _WORD) & (other_sizes <= _WORD)
    found[fits] = _by_words(first[fits], sizes[fits], second[fits], other_sizes[fits])
    found[fits_other] = _by_words(second[fits_other], other_sizes[fits_other], first[fits_other], sizes[fits_other])
    for row in np.flatnonzero(~fits & ~fits_other):
        found[row] = _by_matrix(first[row, : sizes[row]], second[row, : other_sizes[row]])
    return found


def _own(texts: Texts, rows: Array) -> Array:
    """The rows of the texts: always the first of a literal."""
    return rows if len(texts.starts) > 1 else np.zeros(len(rows), np.int64)


def _matrix(texts: Texts, rows: Array, width: type[np.unsignedinteger[Any]]) -> Array:
    """The characters of each string, one more than their codes; padded with zeros."""
    own = _own(texts, rows)
    sizes = texts.counts[own]
    matrix = np.zeros((len(own), max(1, int(sizes.max(initial=0)))), width)
    owners = np.repeat(np.arange(len(own)), sizes)
    places = np.arange(len(owners)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    matrix[owners, places] = texts.codes(own[owners], places) + np.uint32(1)
    return matrix


def _by_words(pattern: Array, sizes: Array, text: Array, text_sizes: Array) -> Array:
    """Distances of patterns of at most 64 characters. Longer texts first, so that those still read are a prefix."""
    order = np.argsort(-text_sizes, kind="stable")
    pattern, sizes, text, text_sizes = pattern[order, :_WORD], sizes[order], text[order], text_sizes[order]
    width = next(width for width in (8, 16, 32, _WORD) if width >= pattern.shape[1])
    lines = np.zeros((len(order), width), pattern.dtype)
    lines[:, : pattern.shape[1]] = pattern
    last = (np.maximum(sizes, 1) - 1).astype(np.uint64)
    positive, negative = np.full(len(order), ~np.uint64(0)), np.zeros(len(order), np.uint64)
    score = sizes.astype(np.int64)
    for place in range(int(text_sizes.max(initial=0))):
        k = int(np.searchsorted(-text_sizes, -place, side="left"))
        p, n = positive[:k], negative[:k]
        bits = np.packbits(lines[:k] == text[:k, place : place + 1], axis=1, bitorder="little")
        equal = bits.view(f"u{width // 8}")[:, 0].astype(np.uint64)
        vertical = equal | n
        horizontal = (((equal & p) + p) ^ p) | equal
        up, down = n | ~(horizontal | p), p & horizontal
        score[:k] += _bit(up, last[:k]) - _bit(down, last[:k])
        up, down = (up << np.uint64(1)) | np.uint64(1), down << np.uint64(1)
        positive[:k], negative[:k] = down | ~(vertical | up), up & vertical
    distances = np.zeros(len(order), np.int32)
    distances[order] = np.where(sizes == 0, text_sizes, score)
    return distances


def _bit(words: Array, places: Array) -> Array:
    return ((words >> places) & np.uint64(1)).astype(np.int64)


def _by_matrix(first: Array, second: Array) -> int:
    """The distance of two long strings, one row of the matrix at a time."""
    steps = np.arange(len(first) + 1)
    line = steps
    for place, character in enumerate(second):
        changed = np.minimum(line[1:] + 1, line[:-1] + (first != character))
        # What an insertion reaches from the left is a running minimum along the diagonal of costs.
        line = np.minimum.accumulate(np.concatenate([[place + 1], changed]) - steps) + steps
    return int(line[-1])
