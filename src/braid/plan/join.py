"""The physical plan of a join: what each stream stores, how it is sorted, and how each head is joined.

Everything here is frozen, picklable, and free of Spark: tasks receive it whole. Names of stored columns are
flat (`stream.column`); names that start with `#` are Braid's own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa

from braid.plan.expressions import Column, Expression
from braid.plan.predicate import Conjunct, Output, Side
from braid.plan.summary import Summary

Access = Literal["equality", "band", "inequality", "time", "nested loop"]
EXPECTED_MATCHES: dict[Access, float] = {
    "equality": 1.0,
    "band": 10.0,
    "time": 1e3,
    "inequality": 1e3,
    "nested loop": 1e6,
}
RESULT_TIME = "result_time"
KEEP = "#keep"


def part_column(part: int, stream: int) -> str:
    """The stored hash of a key part that has no 64-bit value of its own."""
    return f"#{part}:{stream}"


def id_column(stream: int) -> str:
    """The stored number of a row in a stream whose window counts rows."""
    return f"#id:{stream}"


@dataclass(frozen=True)
class StreamPlan:
    """A stream as the engine keeps it.

    `required` columns are null in no result, so rows with a null there are not stored. `window_us` None means
    no window condition, `lateness_us` None no limit; with `window_rows` a row must be among the last so many.
    """

    name: str
    number: int
    time: str
    columns: tuple[Column, ...]
    window_us: int | None
    lateness_us: int | None
    idle_after_ms: int | None
    required: tuple[str, ...]
    indexes: tuple[Index, ...]
    window_rows: int | None = None


@dataclass(frozen=True)
class KeyPart:
    """Sides that must be equal in every result, at most one a stream, as one 64-bit key a row.

    `exact` keys are the value itself; the others are hashes, and candidates are checked.
    """

    number: int
    sides: tuple[Side, ...]
    null_safe: bool
    exact: bool

    def side_of(self, stream: int) -> Side | None:
        return next((side for side in self.sides if side.stream == stream), None)

    @property
    def streams(self) -> frozenset[int]:
        return frozenset(side.stream for side in self.sides)


@dataclass(frozen=True)
class Index:
    """A sort order of a stream's rows: by the key parts together, then by one expression of the stream."""

    parts: tuple[int, ...]
    range: Expression | None


@dataclass(frozen=True)
class Bound:
    """`range >= sum + offset` (lower) or `range <= sum + offset` (upper), up to `epsilon` of rounding.

    `plus` and `minus` are expressions over streams already joined. `capacity` is the largest value that the integer
    arithmetic of the comparison can hold: where it may be passed, the comparison must run on every pair, and raise.
    """

    side: Literal["lower", "upper"]
    plus: tuple[Expression, ...]
    minus: tuple[Expression, ...]
    offset: float
    epsilon: float
    conjunct: int
    capacity: int | None = None


@dataclass(frozen=True)
class Stage:
    """Conjuncts evaluated together, in order, by Braid's tasks or by Spark's JVM."""

    place: Literal["python", "jvm"]
    conjuncts: tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """One join step of a head: which stream is looked up, by which index, and what is checked afterwards.

    `keys` names for every part of the index the joined stream whose side is used. `checks` run on the
    candidates at once; `later` stages follow, in order, on what passed.
    """

    stream: int
    access: Access
    index: int
    keys: tuple[tuple[int, int], ...]
    bounds: tuple[Bound, ...]
    checks: tuple[int, ...]
    later: tuple[Stage, ...]


@dataclass(frozen=True)
class Sequence:
    """The join steps of one head stream, in order."""

    head: int
    probes: tuple[Probe, ...]


@dataclass(frozen=True)
class JoinPlan:
    """All that a task must know about the query.

    `retention_us[i][j]` bounds how much newer a row of stream j may be than the row of stream i it joins.
    `common_part` is a key part that every stream has, if there is one. `result_fields` are the columns that
    leave a probe task: the selected ones, or those the JVM needs to finish conjuncts and selection. With a `summary`
    the outputs are what it is made of; where results are `ordered` the last output is their time.
    """

    streams: tuple[StreamPlan, ...]
    conjuncts: tuple[Conjunct, ...]
    pushed: tuple[tuple[int, ...], ...]
    parts: tuple[KeyPart, ...]
    outputs: tuple[Output, ...]
    retention_us: tuple[tuple[int | None, ...], ...]
    common_part: int | None
    time_zone: str
    schemas: tuple[pa.Schema, ...]
    output_schema: pa.Schema
    leaving: pa.Schema
    summary: Summary | None = None
    ordered: bool = False

    @property
    def counted(self) -> tuple[int, ...]:
        """The streams whose windows count rows."""
        return tuple(stream.number for stream in self.streams if stream.window_rows is not None)

    @property
    def jvm_outputs(self) -> bool:
        """Whether the selection needs the JVM."""
        return any(output.expression is None and output.fields is None for output in self.outputs)
