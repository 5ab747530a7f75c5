"""The stored rows of a unit that sites need apart from lookups: new ones, all, those that depart or are asked for.

What is *admitted* are the rows that this step or an earlier one has looked up: rows of an ordered query may wait.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from braid.engine.commands import SiteCommand
from braid.engine.tasks.segments import SegmentStore
from braid.kernels.probing import Searchable
from braid.kernels.rows import Rows, possible_rows
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.join import step_column
from braid.plan.stored_types import column_types
from braid.state.blocks import Segment
from braid.state.manifest import Block

Times = npt.NDArray[np.int64]


@dataclass(frozen=True)
class OpenSegment:
    """A segment of a unit: how rows look it up, and all of its stored columns."""

    block: Block
    searchable: Searchable
    read: Callable[[], Rows]


class UnitRows:
    """The rows of one stream at its own unit."""

    def __init__(
        self, command: SiteCommand, blocks: Iterable[Block], unit: int, stream: int, store: SegmentStore
    ) -> None:
        self._command = command
        self._unit = unit
        self._stream = stream
        self._store = store
        self._blocks = [block for block in blocks if block.stream == stream and block.epoch == command.layout.epoch]
        self._time = store.plan.streams[stream].time
        self._types = column_types(store.plan, stream)

    @property
    def newest_us(self) -> int:
        """The newest event time of all rows."""
        return max((block.max_time for block in self._blocks), default=EARLIEST_US)

    @property
    def buffered_since(self) -> int:
        """The first step of which rows may wait after this one: all rows of earlier steps are admitted."""
        admission = self._command.common.admission
        if admission.now_us >= LATEST_US:
            return admission.step + 1
        return min((block.first_step for block in self._blocks if block.buffered), default=admission.step)

    def starting(self) -> Iterator[Rows]:
        """The rows that this step admits."""
        for block in self._blocks:
            span = self._command.common.admission.starting(block)
            if span is not None:
                yield from self._between(block, span[0], span[1])

    def admitted_before(self, from_us: int | None = None) -> Iterator[Rows]:
        """The rows that earlier steps admitted, from an event time on."""
        after = EARLIEST_US - 1 if from_us is None else from_us - 1
        for block in self._blocks:
            until = self._until_before(block)
            if until is not None and block.max_time > after:
                yield from self._between(block, after, until)

    def departing(self, expired: Iterable[Block]) -> Iterator[Rows]:
        """The rows, admitted by earlier steps, that leave the counts with this step."""
        before, until = (of[self._stream] for of in (self._command.departed_before, self._command.departed_until))
        if until is None or before == until:
            return
        after = EARLIEST_US - 1 if before is None else before - 1
        newest = self._command.layout.epoch
        gone = [block for block in expired if block.stream == self._stream and block.epoch == newest]
        for block in (*self._blocks, *gone):
            admitted = self._until_before(block)
            if admitted is not None and block.min_time < until and block.max_time > after:
                yield from self._between(block, after, min(until - 1, admitted))

    def segments(self) -> Iterator[OpenSegment]:
        """All segments, with rows that no step has admitted yet."""
        for block in self._blocks:
            for segment in self._segments(block):
                searchable = self._store.searchable(
                    block.file, segment, self._stream, block.choices, is_sorted=block.is_sorted
                )
                yield OpenSegment(block, searchable, partial(self._read, block, segment))

    def is_new(self, block: Block, times: Times) -> npt.NDArray[np.bool_]:
        """Which rows of a block this step admits."""
        span = self._command.common.admission.starting(block)
        if span is None:
            return np.zeros(len(times), bool)
        return (times > span[0]) & (times <= span[1])

    def is_admitted(self, block: Block, times: Times) -> npt.NDArray[np.bool_]:
        """Which rows of a block this step or an earlier one admits."""
        admission = self._command.common.admission
        return times <= (admission.now_us if block.buffered or block.last_step == admission.step else LATEST_US)

    def times(self, rows: Rows) -> Times:
        return rows.times(self._time)

    def steps(self, rows: Rows) -> Times:
        return np.asarray(rows.vector(step_column(self._stream)).values)

    def _until_before(self, block: Block) -> int | None:
        """The event time up to which earlier steps admitted the rows of a block; None: none of them."""
        return self._command.common.admission.seen_until(block, before=False)

    def _segments(self, block: Block) -> list[Segment]:
        return self._store.reader(block.file).segments_of([self._unit])

    def _read(self, block: Block, segment: Segment) -> Rows:
        reader = self._store.reader(block.file)
        return self._store.plain_rows(reader.batch(segment), self._types)

    def _between(self, block: Block, after: int, until: int) -> Iterator[Rows]:
        """The rows of a block with event times after one and until another."""
        for segment in self._segments(block):
            if segment.max_time <= after or segment.min_time > until:
                continue
            rows = possible_rows(self._store.plan, self._stream, self._read(block, segment))
            times = self.times(rows)
            inside = (times > after) & (times <= until)
            if inside.any():
                yield rows if inside.all() else rows.take(np.flatnonzero(inside))
