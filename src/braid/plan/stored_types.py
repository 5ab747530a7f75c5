"""The types of the columns that are stored of a stream or intermediate result."""

from __future__ import annotations

from collections.abc import Iterable

from braid.plan.join import JoinPlan, id_column, step_column
from braid.plan.payloads import payload_column


def column_types(plan: JoinPlan, number: int) -> dict[str, str]:
    """Spark's simple type of every stored column of a stream or intermediate result, Braid's own included."""
    steps = {step_column(member): "bigint" for member in plan.members(number)} if plan.stamped else {}
    return {**joined_types(plan, plan.members(number)), **steps}


def joined_types(plan: JoinPlan, streams: Iterable[int]) -> dict[str, str]:
    """The same for the joined rows of several streams, whose results do not depend on when they arrived."""
    return {name: kind for stream in streams for name, kind in _own_types(plan, stream).items()}


def _own_types(plan: JoinPlan, stream: int) -> dict[str, str]:
    types = {column.name: column.type for column in plan.streams[stream].columns}
    types.update(dict.fromkeys(plan.hashed(stream), "bigint"))
    types.update({id_column(stream): "bigint"} if stream in plan.row_based else {})
    # Also without a payload: for a query before a correction there may have been one.
    types[payload_column(stream)] = "bigint"
    return types
