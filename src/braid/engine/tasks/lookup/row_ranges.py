"""Ranges of the rows of stored segments: those of some partition groups, and parts of bounded size."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from braid.kernels import sizes
from braid.state.blocks import BlockReader, Segment


class Part(NamedTuple):
    """Rows of a stored segment, from the first up to the last."""

    file: str
    segment: Segment
    rows: tuple[int, int]


def whole(file: str, segment: Segment) -> Part:
    """All rows of a segment."""
    return Part(file, segment, (0, segment.rows))


def group_parts(
    reader: BlockReader, file: str, segment: Segment, wanted: npt.NDArray[np.bool_] | None
) -> Iterator[Part]:
    """The rows of a segment that are of the wanted partition groups; all if it is not sorted by group.

    None: all rows.
    """
    ranges = None if wanted is None else reader.ranges_of(segment)
    if ranges is None or wanted is None:
        yield whole(file, segment)
        return
    groups, starts = ranges
    # Adjacent wanted ranges are read as one.
    edges = np.flatnonzero(np.diff(wanted[groups].astype(np.int8), prepend=0, append=0))
    bounds = np.append(starts, segment.rows)[edges].tolist()
    for start, stop in zip(bounds[::2], bounds[1::2], strict=True):
        yield Part(file, segment, (start, stop))


def ascending_runs(
    reader: BlockReader, file: str, units: Collection[int], groups: npt.NDArray[np.bool_]
) -> Iterator[tuple[Part, ...]]:
    """The rows of some groups at some units, as runs of bounded size in which the groups of a unit ascend."""
    run: list[Part] = []
    last, size = -1, 0
    for number, start, stop, first_group, last_group in reader.groups.chosen(groups, reader.at_units(units)):
        segment = reader.segment(number)
        length = segment.length * (stop - start) // max(1, segment.rows)
        alike = bool(run) and (run[0].segment.unit, run[0].segment.route) == (segment.unit, segment.route)
        if run and (not alike or first_group <= last or size + length > sizes.piece_bytes()):
            yield tuple(run)
            run, size = [], 0
        run.append(Part(file, segment, (start, stop)))
        last, size = last_group, size + length
    if run:
        yield tuple(run)


def ranges_of(part: Part) -> Iterator[Part]:
    """A part of a long segment in parts of at most a piece; a short one as it is."""
    file, segment, (start, stop) = part
    step = max(1, segment.rows * sizes.piece_bytes() // max(1, segment.length))
    for first in range(start, stop, step):
        yield Part(file, segment, (first, min(first + step, stop)))
