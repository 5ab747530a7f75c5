"""The current totals of an aggregation, read from its aggregate state, one part of the groups at a time.

Nothing is written. A part needs no other part, since all rows of a group are in one part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from braid.engine.tasks.aggregate.partials import part_of
from braid.engine.tasks.aggregate.parts import Tables, oldest_counting, since
from braid.errors import CorruptStateError
from braid.kernels.aggregate.aggregation import add_up, empty_total, finish, only_group
from braid.kernels.aggregate.columns import TIME
from braid.kernels.sizes import table_pieces
from braid.plan.aggregation import Aggregation
from braid.state.blocks import BlockReader
from braid.state.cache import LocalCopies, copies_directory
from braid.state.files import locate
from braid.state.manifest import AggregateState

ROWS_PER_BATCH = 1 << 16


@dataclass(frozen=True)
class StoredAggregation:
    """How aggregate state is read: the aggregation, and the columns of its totals.

    The last column of an ordered aggregation is the result time.
    """

    aggregation: Aggregation
    columns: pa.Schema


def part_totals(
    stored: StoredAggregation, aggregate: AggregateState, part: int, reader: Callable[[str], BlockReader]
) -> Iterator[pa.RecordBatch]:
    """The groups of a part with their values, in pieces.

    Groups without results are omitted, except the group of all results.
    """
    aggregation = stored.aggregation
    newest = pa.scalar(aggregate.newest_us, pa.int64())
    for values in _values(aggregation, aggregate, part, reader):
        added = list(stored.columns)[len(values.schema) :]
        times = [pa.repeat(newest, values.num_rows).cast(field.type) for field in added]
        yield pa.RecordBatch.from_arrays([*values.columns, *times], schema=stored.columns)


def _values(
    aggregation: Aggregation, aggregate: AggregateState, part: int, reader: Callable[[str], BlockReader]
) -> Iterator[pa.RecordBatch]:
    tables = _live_tables(aggregation, aggregate, part, reader)
    totals = tables.pop(0, None)
    if totals is not None and totals.num_rows:
        sets = {}
        for number, call in enumerate(aggregation.sets if aggregation.slides else (), start=1):
            sets[call] = tables[number] if number in tables else totals.slice(0, 0)
        for piece in table_pieces(totals):
            yield finish(aggregation, piece, sets)
    elif aggregation.is_whole and part == int(part_of(aggregation, only_group(), aggregate.parts)[0]):
        yield empty_total(aggregation)


def _live_tables(
    aggregation: Aggregation, aggregate: AggregateState, part: int, reader: Callable[[str], BlockReader]
) -> Tables:
    """The tables of a part, each added up, without times. Distinct counts that do not slide are in table 0."""
    cut = oldest_counting(aggregate.newest_us, aggregation.over_us)
    found: dict[int, list[pa.Table]] = {}
    for block in aggregate.blocks:
        opened = reader(block.file)
        for segment in opened.segments_of(None if aggregation.slides else [0], [part]):
            table = pa.Table.from_batches([opened.batch(segment)])
            if aggregation.slides:
                table = since(table, cut).drop_columns([TIME])
            found.setdefault(segment.unit, []).append(table)
    return {number: add_up(aggregation, number, tables) for number, tables in found.items()}


class TotalsFunction:
    """The function that Spark maps over the part numbers."""

    def __init__(self, location: str, aggregation: StoredAggregation, aggregate: AggregateState) -> None:
        self._location = location
        self._aggregation = aggregation
        self._aggregate = aggregate

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = self._open_reader()
        for batch in batches:
            for part in batch.column(0).to_pylist():
                for totals in part_totals(self._aggregation, self._aggregate, part, reader):
                    for first in range(0, totals.num_rows, ROWS_PER_BATCH):
                        yield totals.slice(first, ROWS_PER_BATCH)

    def _open_reader(self) -> Callable[[str], BlockReader]:
        files, path = locate(self._location)
        return block_opener(LocalCopies(files, copies_directory()), f"{path}/blocks")


def block_opener(copies: LocalCopies, directory: str) -> Callable[[str], BlockReader]:
    """A function that opens each block once."""
    opened: dict[str, BlockReader] = {}

    def reader(file: str) -> BlockReader:
        if file not in opened:
            path = f"{directory}/{file}"
            try:
                opened[file] = BlockReader(copies.map(path), path)
            except FileNotFoundError as error:
                raise CorruptStateError(f"The state block {path} is missing.") from error
        return opened[file]

    return reader
