"""The physical plan of a join: what each stream stores, how it is sorted, and how new rows of each stream are joined.

Everything here is frozen, picklable, and free of Spark, because it is sent to tasks. Names of stored columns are flat
(`stream.column`); names that start with `#` are internal.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import pyarrow as pa
import xxhash

from braid.plan.aggregation import Aggregation
from braid.plan.expressions import Column, Expression
from braid.plan.predicate import Conjunct, Output, Side
from braid.plan.site_names import Site

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


def step_column(stream: int) -> str:
    """The column with the step that a row arrived in, where a plan is `stamped`."""
    return f"#step:{stream}"


def id_column(stream: int) -> str:
    """The column with the id of a row, in a stream with a row-based window."""
    return f"#id:{stream}"


@dataclass(frozen=True)
class StreamPlan:
    """A stream as the engine stores it.

    `required` columns are not null in any result, so rows with a null there are not stored. `window_us` None means no
    window condition, `lateness_us` None no limit; with `window_rows` a row must be among the last `window_rows`. Rows
    more than `max_ahead_us` ahead of the clock are late; None: no limit. `routing` is the number that rows are routed
    by where a layout has ranges; None if no comparison bounds one. `site` is where rows arise, if that was said.
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
    max_ahead_us: int | None = None
    routing: Expression | None = None
    site: Site | None = None

    @property
    def time_column(self) -> Column:
        return next(column for column in self.columns if column.name == self.time)


@dataclass(frozen=True)
class Intermediate:
    """A stored intermediate result of a tree: all combinations of rows of its members found so far.

    Its number follows those of the streams. Only new rows of `probing_stream` look it up, so a combination is kept
    until none of them can join it: for `kept_us` after its time as computed by `row_times`, None: forever.
    """

    name: str
    number: int
    members: tuple[int, ...]
    probing_stream: int
    kept_us: int | None
    indexes: tuple[Index, ...]


@dataclass(frozen=True)
class KeyPart:
    """Sides that are equal in every result, at most one per stream, as one 64-bit key per row.

    `exact` keys are the value itself. Other keys are hashes, whose candidates are checked.
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

    def hash_column(self, stream: int) -> str | None:
        """The column with the hashes of a stream's side; None without one, and for exact keys.

        It is named by what is hashed: stored hashes keep their meaning when a corrected query numbers its parts anew.
        """
        side = self.side_of(stream)
        if side is None or self.exact:
            return None
        return f"#{xxhash.xxh3_64_hexdigest(f'{self.null_safe} {side.sql}'.encode())}:{stream}"


@dataclass(frozen=True)
class Index:
    """A sort order of a stream's rows: by the key parts together, then by one expression of the stream.

    It may be any of the `candidates`; the first is taken until samples favour another.
    """

    parts: tuple[int, ...]
    range: Expression | None
    candidates: tuple[Expression, ...] = ()

    def by(self, choice: int) -> Index:
        """The index sorted by one of its candidates."""
        return self if choice == 0 else replace(self, range=self.candidates[choice])


@dataclass(frozen=True)
class SortOrder:
    """How a step stores the rows of a stream: by which candidate each index is sorted; (): each by its first.

    Where a step spans more than `cut_us` of event time, its rows are cut into sub-indexes of about that length.
    """

    choices: tuple[int, ...] = ()
    cut_us: int | None = None


@dataclass(frozen=True)
class Bound:
    """`range >= sum + offset` (lower) or `range <= sum + offset` (upper), up to `epsilon` of rounding.

    `plus` and `minus` are expressions over streams already joined. `capacity` is the largest value of the comparison's
    arithmetic of integers and long decimals: where it may be exceeded, the comparison must run on every pair, so that
    it raises. `rounding` is by how much the sums of long decimals may be rounded, whatever their size.
    """

    side: Literal["lower", "upper"]
    plus: tuple[Expression, ...]
    minus: tuple[Expression, ...]
    offset: float
    epsilon: float
    conjunct: int
    capacity: float | None = None
    rounding: float = 0.0


@dataclass(frozen=True)
class AccessPath:
    """Rows of `other` search an index of `stream` by its candidate `choice`, a `number` within `bounds`."""

    stream: int
    index: int
    choice: int
    other: int
    number: Expression
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Guard:
    """A comparison that may raise if the `number` of a stored row and the terms of `bounds` are large."""

    number: Expression
    bounds: tuple[Bound, ...]


@dataclass(frozen=True)
class Stage:
    """Conjuncts evaluated together, in order, by Braid's tasks or by Spark's JVM."""

    place: Literal["python", "jvm"]
    conjuncts: tuple[int, ...]


@dataclass(frozen=True)
class Probe:
    """One lookup of a probe order: which stream or intermediate result, how, and what is checked afterwards.

    `keys` names for every part of the index the joined stream whose side is used. The index is sorted by `range`, and
    searched within `bounds`; not where one of the `guards`, comparisons that come first, may overflow, because it must
    raise then. `checks` run directly on the candidates; `later` stages follow, in order, on the pairs that passed.
    `routing` bounds the number that the stored rows are routed by.
    """

    stream: int
    access: Access
    index: int
    keys: tuple[tuple[int, int], ...]
    range: Expression | None
    bounds: tuple[Bound, ...]
    guards: tuple[Guard, ...]
    checks: tuple[int, ...]
    later: tuple[Stage, ...]
    routing: tuple[Bound, ...] = ()


@dataclass(frozen=True)
class ProbeOrder:
    """The lookups of the delta rows of one stream, in order.

    `start` is the round of the first one: shorter probe orders start later, so that all end in the same round. `joined`
    has the streams that are joined before each lookup, and after the last.
    """

    delta_stream: int
    probes: tuple[Probe, ...]
    joined: tuple[tuple[int, ...], ...]
    start: int = 0

    def probe_in(self, round_number: int) -> Probe | None:
        """The lookup of a round; None before the first and after the last."""
        place = round_number - self.start
        return self.probes[place] if 0 <= place < len(self.probes) else None

    def before(self, round_number: int) -> tuple[int, ...]:
        """The streams that are joined when a round begins."""
        return self.joined[round_number - self.start]

    def after(self, round_number: int) -> tuple[int, ...]:
        """The streams that are joined when a round has ended."""
        return self.joined[min(round_number + 1 - self.start, len(self.probes))]


@dataclass(frozen=True)
class JoinPlan:
    """All that a task must know about the query.

    `retention_us[i][j]` bounds how much newer a row of stream j may be than the row of stream i it joins. `common_part`
    is a key part that every stream has, if there is one. `output_schema` has the columns of join results, `sink_schema`
    those that reach the sink. With an `aggregation` the outputs are its input; where results are `ordered` the last
    output is the result time. `tree` is the order of the streams in a tree, the outermost first, and `intermediate` has
    the results stored between them. Where it is `stamped`, stored rows say in which step they arrived.
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
    sink_schema: pa.Schema
    aggregation: Aggregation | None = None
    ordered: bool = False
    tree: tuple[int, ...] | None = None
    intermediate: tuple[Intermediate, ...] = ()
    stamped: bool = False

    @property
    def row_based(self) -> tuple[int, ...]:
        """The streams with row-based windows."""
        return tuple(stream.number for stream in self.streams if stream.window_rows is not None)

    def hashed(self, stream: int) -> dict[str, KeyPart]:
        """The columns with hashes of a stream's keys, each with a part that reads it."""
        named = ((part.hash_column(stream), part) for part in self.parts)
        return {name: part for name, part in named if name is not None}

    def members(self, number: int) -> tuple[int, ...]:
        """The streams whose rows a stored row combines: the stream itself, or those of an intermediate result."""
        return (number,) if number < len(self.streams) else self._intermediate(number).members

    def indexes(self, number: int, choices: tuple[int, ...] = ()) -> tuple[Index, ...]:
        """The sort orders of a stream or intermediate result, by the chosen numbers; rows are stored in the first."""
        found = self.streams[number].indexes if number < len(self.streams) else self._intermediate(number).indexes
        return tuple(index.by(choice) for index, choice in zip(found, choices, strict=True)) if choices else found

    def name_of(self, number: int) -> str:
        return self.streams[number].name if number < len(self.streams) else self._intermediate(number).name

    def source_of(self, part: int, number: int) -> int | None:
        """The first member stream that has a side in a key part."""
        return next((m for m in self.members(number) if self.parts[part].side_of(m) is not None), None)

    def reaches(self, number: int) -> tuple[tuple[int, int | None], ...]:
        """The streams that look up stored rows, and how much newer their rows may be; None: unbounded."""
        if number < len(self.streams):
            return tuple((other, reach) for other, reach in enumerate(self.retention_us[number]) if other != number)
        intermediate = self._intermediate(number)
        return ((intermediate.probing_stream, intermediate.kept_us),)

    def schema_of(self, number: int) -> pa.Schema:
        """The stored columns of a stream or intermediate result."""
        return pa.schema([field for member in self.members(number) for field in self.schemas[member]])

    def intermediate_of(self, joined: Iterable[int]) -> int | None:
        """The number of the intermediate result with exactly these members, if one is stored."""
        streams = set(joined)
        return next(
            (intermediate.number for intermediate in self.intermediate if set(intermediate.members) == streams), None
        )

    def comes_before(self, number: int, delta_stream: int) -> bool:
        """Whether delta rows see rows of the same step in `number`: it is before them in the tree, or by number."""
        if number >= len(self.streams):
            return False
        return number < delta_stream if self.tree is None else self.tree.index(number) < self.tree.index(delta_stream)

    def _intermediate(self, number: int) -> Intermediate:
        return self.intermediate[number - len(self.streams)]

    @property
    def per_timestamp(self) -> bool:
        """Whether all results of one time are emitted together: with row-based windows and ordered aggregations."""
        aggregated = self.aggregation is not None and not self.aggregation.is_distinct
        return bool(self.row_based) or (self.ordered and aggregated)

    @property
    def jvm_outputs(self) -> bool:
        """Whether the selection needs the JVM."""
        return any(output.expression is None and output.fields is None for output in self.outputs)
