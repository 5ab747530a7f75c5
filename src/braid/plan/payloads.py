"""Payloads: the stored columns of a stream that only the selection reads.

No key, index, window or conjunct reads them, so lookups need none of them. A row may be stored with its payload, or
with an address in place of it: then the payload is in a payload file, where the ingest task wrote it once.
"""

from __future__ import annotations

from collections.abc import Iterable

from braid.plan.expressions import Expression, columns_of
from braid.plan.join import JoinPlan, StreamPlan
from braid.plan.once_per_plan import once_per_plan


def payload_column(stream: int) -> str:
    """The column with the addresses of payloads; a row with its payload has none, or NULL."""
    return f"#payload:{stream}"


@once_per_plan
def payload_columns(plan: JoinPlan, stream: int) -> tuple[str, ...]:
    """The columns of a stream's payload, in the order in which they are stored."""
    own = plan.streams[stream]
    read = {own.time, *own.required}
    for number, conjunct in enumerate(plan.conjuncts):
        if number not in plan.pushed[stream]:
            read |= {column.name for column in conjunct.columns}
    read |= {column.name for expression in _numbers(own) for column in columns_of(expression)}
    return tuple(column.name for column in own.columns if column.name not in read)


def _numbers(stream: StreamPlan) -> Iterable[Expression]:
    """The numbers that a stream's rows are sorted and routed by."""
    if stream.routing is not None:
        yield stream.routing
    for index in stream.indexes:
        yield from index.candidates
        if index.range is not None:
            yield index.range
