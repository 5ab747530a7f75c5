"""What all updates of the aggregate state have in common: one piece of a slot's groups at a time.

A piece reads the step's partial aggregates of its groups, finds what is emitted and what is added, and compacts the
added tables with older ones. How values are found depends on whether results are ordered; `update.py` and `changes.py`
say how.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Generic, TypeVar

import pyarrow as pa

from braid.engine.commands import AggregateCommand
from braid.engine.tasks.aggregate.parts import AggregateParts, Tables
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.task import SlotTask
from braid.engine.tasks.worker.cache import segment_store
from braid.kernels.aggregate.aggregation import groups_without_results
from braid.plan.aggregation import Aggregation

Emitted = TypeVar("Emitted")
Update = tuple[Emitted | None, Tables]
"""What an update emits, if anything, and the tables that it adds to the aggregate state."""


def aggregation_of(task: SlotTask) -> Aggregation:
    if task.plan.aggregation is None:
        raise RuntimeError("this join has no aggregation")
    return task.plan.aggregation


def open_pieces(task: SlotTask, command: AggregateCommand) -> tuple[SegmentStore, Iterator[AggregateParts]]:
    """The open blocks of the aggregate state and of the step's partial aggregates, and the pieces of the slot."""
    store = segment_store(task.plan, task.locations, f"{command.run} aggregate")
    partials = [partial.file for partial in command.partials]
    store.use([*(block.file for block in command.aggregate.blocks), *partials, *command.rewritten], command.step)
    parts = AggregateParts(aggregation_of(task), command.aggregate, task.slot, task.slots, store)
    return store, parts.pieces(command)


class PieceUpdate(ABC, Generic[Emitted]):
    """The update of one piece of a slot's groups."""

    def __init__(
        self, aggregation: Aggregation, command: AggregateCommand, parts: AggregateParts, store: SegmentStore
    ) -> None:
        self._aggregation = aggregation
        self._command = command
        self._parts = parts
        self._store = store

    def run(self) -> Update[Emitted]:
        """What is emitted, and the tables of the slot's new block."""
        fresh = self._fresh()
        if self._aggregation.is_distinct:
            emitted, added = self._distinct(fresh)
        elif self._aggregation.slides:
            emitted, added = self._slide(fresh)
        else:
            emitted, added = self._total(fresh)
        return emitted, self._parts.compact(added, self._command.compacted, self._oldest_kept())

    @abstractmethod
    def _fresh(self) -> Tables:
        """The step's partial aggregates of the piece, added up."""

    @abstractmethod
    def _distinct(self, fresh: Tables) -> Update[Emitted]:
        """A distinct selection: rows that are not stored yet."""

    @abstractmethod
    def _total(self, fresh: Tables) -> Update[Emitted]:
        """Over all results."""

    @abstractmethod
    def _slide(self, fresh: Tables) -> Update[Emitted]:
        """Over an interval of result time."""

    @abstractmethod
    def _oldest_kept(self) -> int | None:
        """The oldest result time that the aggregate state still needs; None if it needs all."""

    def _touched_groups(self, gained: pa.Table | None, since_us: int, cut_us: int) -> pa.Table | None:
        """The groups that gain results, or lose those from `since_us` on that are older than the cut; None: none."""
        touched = [*([] if gained is None else [gained]), *self._parts.lost(since_us, cut_us)]
        touched = [table for table in touched if table.num_rows]
        return groups_without_results(self._aggregation, touched) if touched else None

    def _tables(self, file: str) -> Iterator[tuple[int, pa.Table]]:
        """The tables of the piece in a block of partial aggregates."""
        for segment in self._store.reader(file).segments_of(None, self._parts.numbers):
            for table in self._parts.tables(file, segment):
                yield segment.unit, table
