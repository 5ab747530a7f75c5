"""The logical plan: the query after analysis, with every name and type resolved, before the optimizer chooses."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from braid.plan.aggregation import Aggregation
from braid.plan.expressions import Column
from braid.plan.predicate import Conjunct, Output
from braid.plan.site_names import Site


@dataclass(frozen=True)
class LogicalStream:
    """A stream as the user defined it.

    `window_us` None: no window condition; `automatic`: predicates bound the window; `window_rows`: a row must be among
    the last `window_rows`. `schema` has every column of the stream, by flat name, with its Arrow type. `site` is where
    its rows arise, if that was said.
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
    site: Site | None = None

    @property
    def time_column(self) -> Column:
        return next(column for column in self.columns if column.name == self.time)


@dataclass(frozen=True)
class LogicalPlan:
    """A join as the user defined it; `sink_schema` has the columns that are emitted.

    The last output of an `ordered` join is the result time, which is not emitted.
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
