"""The schema of the tables of partial totals: which columns a table has, and how each of them is added up.

Table 0 has the columns of the groups, and the totals. The table of a call on distinct values has the columns of the
groups and of the values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from braid.plan.aggregation import Aggregation

HASH, TIME, ROWS, FRESH = "#hash", "#time", "#rows", "#fresh"
EVERYTHING = "g"
"""The only group column of an aggregation without groups."""

Kind = Literal["count", "sum", "extreme"]
Combination = Literal["sum", "min", "max"]


@dataclass(frozen=True)
class Total:
    """A column of partial totals: what it has, and how two rows of it are combined."""

    kind: Kind
    combination: Combination


def group_columns(aggregation: Aggregation) -> list[str]:
    return [group_column(number) for number in range(aggregation.groups)] or [EVERYTHING]


def value_columns(aggregation: Aggregation, number: int) -> list[str]:
    """The values of a table of distinct values; table 0 has none."""
    if number == 0:
        return []
    call = aggregation.calls[aggregation.sets[number - 1]]
    return [value_column(place) for place in range(len(call.arguments))]


def total_columns(aggregation: Aggregation) -> dict[str, Total]:
    """The totals that rows of table 0 may have."""
    columns = {} if aggregation.is_distinct else {ROWS: Total("count", "sum")}
    for number, call in enumerate(aggregation.calls):
        if call.function == "min" or call.function == "max":
            columns[extreme_column(number)] = Total("extreme", call.function)
            continue
        columns[count_column(number)] = Total("count", "sum")
        if call.function in ("sum", "avg"):
            columns[sum_column(number)] = Total("sum", "sum")
    return columns


def combination_of(aggregation: Aggregation, name: str) -> Combination:
    """How a column that is no key is added up."""
    if name == TIME:
        return "max" if aggregation.slides else "min"
    return "max" if name == FRESH else total_columns(aggregation)[name].combination


def group_column(number: int) -> str:
    return f"g{number}"


def value_column(place: int) -> str:
    return f"v{place}"


def count_column(call: int) -> str:
    return f"n{call}"


def sum_column(call: int) -> str:
    return f"s{call}"


def extreme_column(call: int) -> str:
    return f"m{call}"
