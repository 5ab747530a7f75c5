"""`join.groupBy(...)`: the groups of an aggregation, before its aggregates are given."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, NoReturn, get_args

from braid.analysis import analyze_grouping
from braid.api.missing_methods import GROUPED, refuse_attribute
from braid.errors import QueryError
from braid.plan.aggregation import Updates
from braid.plan.durations import duration_us

if TYPE_CHECKING:
    from braid.api.join import Join


@dataclass(frozen=True, repr=False)
class Grouped:
    """Groups of a join's results. Made by `Join.groupBy`."""

    _join: Join
    _expressions: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Grouped({self._join!r} by {', '.join(self._expressions) or 'nothing'})"

    def __getattr__(self, name: str) -> NoReturn:
        refuse_attribute(self, name, GROUPED)

    def agg(self, *expressions: str, over: str | timedelta = "all", updates: Updates = "batched") -> Join:
        """Keep these aggregates of each group: over all results, or over the newest interval of result time."""
        if updates not in get_args(Updates):
            raise QueryError(
                f".agg(updates=...) is one of {', '.join(get_args(Updates))}, but got {updates!r}.",
                hint='Leave it out: "batched" is the default.',
            )
        grouping = analyze_grouping(self._join._analyzer, self._expressions, expressions)
        over_us = None if over == "all" else duration_us("over", over)
        joined = replace(self._join, outputs=None, grouping=grouping, over_us=over_us, updates=updates)
        joined._selection.check_names()
        return joined
