"""The question after analysis: what was asked, with every name and type resolved, before anything is chosen."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from braid.plan.aggregation import Aggregation
from braid.plan.expressions import Column
from braid.plan.predicate import Conjunct, Output


@dataclass(frozen=True)
class LogicalStream:
    """A stream as asked for. `window_us` None: no window condition; `automatic`: to be bounded by predicates;
    `window_rows`: a row must be among so many.

    `schema` has every column of the stream, by flat name, with its Arrow type.
    """

    name: str
    number: int
    time: str
    columns: tuple[Column, ...]
    schema: pa.Schema
    window_us: int | None
    automatic: bool
    lateness_us: int | None
    idle_after_ms: int | None
    window_rows: int | None = None
    max_ahead_us: int | None = None

    @property
    def time_column(self) -> Column:
        return next(column for column in self.columns if column.name == self.time)


@dataclass(frozen=True)
class LogicalPlan:
    """A join as asked for; `leaving` are the columns that leave it.

    The last output of an `ordered` one is the result time, which does not leave.
    """

    streams: tuple[LogicalStream, ...]
    conjuncts: tuple[Conjunct, ...]
    outputs: tuple[Output, ...]
    output_schema: pa.Schema
    sink_schema: pa.Schema
    time_zone: str
    ansi: bool
    case_sensitive: bool
    aggregation: Aggregation | None = None
    ordered: bool = False
