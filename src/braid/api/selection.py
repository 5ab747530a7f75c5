"""The output of a join: the selected columns, or groups with their totals, and the times they need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from pyspark.sql.types import StructType

from braid.analysis import Analyzer, Grouping, quote
from braid.api.columns import arrow_schema, struct_of
from braid.api.stream import Stream
from braid.errors import QueryError
from braid.plan.aggregation import Aggregation, Updates
from braid.plan.expressions import Column
from braid.plan.join import RESULT_TIME
from braid.plan.predicate import Output


@dataclass(frozen=True)
class Selection:
    """A join's selection as far as it was given, and what follows from it."""

    analyzer: Analyzer
    streams: tuple[Stream, ...]
    outputs: tuple[Output, ...] | None
    grouping: Grouping | None
    over_us: int | None
    updates: Updates
    is_distinct: bool
    ordered: bool

    @cached_property
    def schema(self) -> StructType:
        """The output columns."""
        return struct_of([*self._values, *self._time_of_changes])

    def check_names(self) -> None:
        """Raise if two columns would have one name."""
        _ = self._time_of_changes

    @cached_property
    def chosen(self) -> tuple[Output, ...]:
        """The selected outputs, those of a selection that was not given too."""
        return self.analyzer.default_selection() if self.outputs is None else self.outputs

    @cached_property
    def computed(self) -> tuple[Output, ...]:
        """What probe tasks compute of a result: the output, or the input of an aggregation."""
        if self.grouping is None:
            return (*self.chosen, *self._time_output)
        return (*self.grouping.groups, *self.grouping.arguments, *self._time_output)

    @property
    def computed_schema(self) -> StructType:
        return struct_of((output.name, output.type_json) for output in self.computed)

    def aggregation(self, ansi: bool) -> Aggregation | None:
        """What becomes of results that are not wanted one by one."""
        if self.grouping is None and not self.is_distinct:
            return None
        return Aggregation(
            groups=len(self.chosen) if self.grouping is None else len(self.grouping.groups),
            calls=() if self.grouping is None else self.grouping.calls,
            over_us=self.over_us,
            updates=self.updates,
            time_of=self._time_of,
            ansi=ansi,
            schema=arrow_schema(struct_of(self._values)),
            bounded_by=self._bounded_by,
            ordered=self.ordered,
        )

    @cached_property
    def _values(self) -> list[tuple[str, str]]:
        """The names and types of the output per group, or per result."""
        if self.grouping is None:
            return [(output.name, output.type_json) for output in self.chosen]
        groups = [(output.name, output.type_json) for output in self.grouping.groups]
        return [*groups, *zip(self.grouping.names, self.grouping.types_json, strict=True)]

    @cached_property
    def _time_of_changes(self) -> list[tuple[str, str]]:
        """The last column of an ordered aggregation: the result time at which the values of a group became these."""
        if self.grouping is None or not self.ordered:
            return []
        if any(name.lower() == RESULT_TIME for name, _ in self._values):
            raise QueryError(
                f"An ordered aggregation has a column {RESULT_TIME} of its own, and another one has this name.",
                hint=f"Rename the other, as in .groupBy('{RESULT_TIME} AS time').",
            )
        return [(RESULT_TIME, self._time_output[0].type_json)]

    @cached_property
    def _time_of(self) -> int | Literal["result"] | None:
        """Which time results carry: their own, for order or aggregation, or one after which a row is forgotten."""
        return "result" if self.ordered or self.over_us is not None else self._bounded_by

    @cached_property
    def _bounded_by(self) -> int | Literal["result"] | None:
        """The selected event time that bounds how long a distinct row may appear again."""
        if not self.is_distinct:
            return None
        read = {o.expression.name for o in self.chosen if isinstance(o.expression, Column)}
        if RESULT_TIME in read:
            return "result"
        return next((n for n, stream in enumerate(self.streams) if f"{stream.name}.{stream.time}" in read), None)

    @cached_property
    def _time_output(self) -> tuple[Output, ...]:
        if self._time_of is None:
            return ()
        text = RESULT_TIME
        if self._time_of != "result":
            stream = self.streams[self._time_of]
            text = f"{quote(stream.name)}.{quote(stream.time)}"
        return self.analyzer.selection((f"{text} AS `#time`",))
