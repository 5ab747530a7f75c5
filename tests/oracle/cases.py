"""Random cases: streams with rows and batch cuts, and queries over them. One seed, one case, for ever."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import pyarrow as pa

from tests.oracle.functions import TWINS
from tests.oracle.predicates import Expressions
from tests.oracle.values import KINDS, random_times, random_values

NAMES = ("o", "q", "t", "v")
ROWS = {2: 36, 3: 13, 4: 7}
SPAN_S = 40
UNITS_US = {"second": 1_000_000, "minute": 60_000_000}
WINDOWS = ("0 seconds", "2 seconds", "8 seconds", "20 seconds", "20 seconds", "2 minutes", "unbounded", "unbounded")
LATENESSES = (None, "0 seconds", "2 seconds", "8 seconds", "1 minute", "unbounded")
AUTO = "auto"


@dataclass(frozen=True)
class Input:
    """One stream: its rows in the order of arrival, cut into batches. `columns` maps names to kinds of values."""

    name: str
    time: str
    columns: dict[str, str]
    rows: pa.Table
    batches: tuple[int, ...]

    @property
    def zoned(self) -> bool:
        return self.rows.schema.field(self.time).type.tz is not None

    def cut(self) -> list[pa.Table]:
        """The rows of each batch; a batch may be empty."""
        edges = [0, *self.batches, self.rows.num_rows]
        return [self.rows.slice(start, stop - start) for start, stop in itertools.pairwise(edges)]


@dataclass(frozen=True)
class Condition:
    """A conjunct: its SQL, and for a Python predicate the function and columns, of which the SQL is the twin.

    Such a function never raises; `promised` if the query says so.
    """

    sql: str
    raising: bool = False
    function: Callable[..., Any] | None = None
    arguments: tuple[str, ...] = ()
    promised: bool = False


@dataclass(frozen=True)
class Query:
    """A join to ask for. Windows and latenesses by position of the stream; no selection means the default one."""

    conditions: tuple[Condition, ...]
    windows: tuple[str, ...]
    latenesses: tuple[str | None, ...]
    selection: tuple[str, ...]
    strategy: str
    portable: bool = False


@dataclass(frozen=True)
class Case:
    seed: int
    inputs: tuple[Input, ...]
    queries: tuple[Query, ...]

    def only(self, query: Query) -> Case:
        return replace(self, queries=(query,))


def duration_us(text: str) -> int:
    """The microseconds of a duration as cases write it."""
    count, unit = text.split()
    return int(count) * UNITS_US[unit.removesuffix("s")]


def random_case(seed: int, queries: int, shape: Literal["static", "streaming"] = "static") -> Case:
    """The case of a seed."""
    random_ = random.Random(f"{shape}-{seed}")
    count = random_.choice((2, 2, 2, 3, 3, 4))
    zoned = random_.random() < 0.85
    inputs = tuple(_random_input(random_, NAMES[number], ROWS[count], zoned) for number in range(count))
    return Case(seed, inputs, tuple(_random_query(random_, inputs) for _ in range(queries)))


def recut(inputs: Sequence[Input], seed: int) -> tuple[Input, ...]:
    """The same arrivals in other batches."""
    random_ = random.Random(f"cut-{seed}")
    return tuple(replace(entry, batches=_random_cut(random_, entry.rows.num_rows)) for entry in inputs)


def _random_input(random_: random.Random, name: str, count: int, zoned: bool) -> Input:
    kinds = random_.sample(tuple(KINDS), random_.randint(5, 9))
    columns = {kind if random_.random() < 0.75 else f"{kind}_{name}": kind for kind in kinds}
    time = random_.choice(("ts", "ts", "at"))
    order = _arrivals(random_, times := random_times(random_, count, SPAN_S, zoned))
    arrays = {"id": pa.array(range(count), pa.int64()), time: times}
    arrays |= {column: random_values(random_, kind, count) for column, kind in columns.items()}
    rows = pa.table(arrays).take(pa.array(order))
    columns = {**columns, time: "moment" if zoned else "local"}
    return Input(name, time, columns, rows, _random_cut(random_, count))


def _arrivals(random_: random.Random, times: pa.Array) -> list[int]:
    """Rows by event time, each delayed a little: out of order, some of them late."""
    microseconds = times.cast(pa.int64()).to_pylist()
    delay = random_.choice((0, 3, 12))
    arrival = [(value or 0) + random_.uniform(0, delay * 1e6) for value in microseconds]
    return sorted(range(len(arrival)), key=arrival.__getitem__)


def _random_cut(random_: random.Random, count: int) -> tuple[int, ...]:
    return tuple(sorted(random_.randint(0, count) for _ in range(random_.randint(1, 3))))


def _random_query(random_: random.Random, inputs: tuple[Input, ...]) -> Query:
    names = [entry.name for entry in inputs]
    expressions = Expressions(random_, {entry.name: entry.columns for entry in inputs})
    portable = random_.random() < 0.2
    windows = tuple(random_.choice(WINDOWS) for _ in inputs)
    if portable:
        conditions = _portable_conditions(random_, expressions, names)
    else:
        conditions = _random_conditions(random_, expressions, inputs)
        if random_.random() < 0.2:
            conditions += _interval_conditions(random_, inputs)
            windows = tuple(random_.choice((AUTO, AUTO, window)) for window in windows)
    return Query(
        conditions=tuple(conditions),
        windows=windows,
        latenesses=tuple(random_.choice(LATENESSES) for _ in inputs),
        selection=() if random_.random() < 0.25 else _random_selection(random_, expressions, names),
        strategy=_random_strategy(random_, names),
        portable=portable,
    )


def _random_conditions(random_: random.Random, expressions: Expressions, inputs: tuple[Input, ...]) -> list[Condition]:
    """Equalities along a chain, a star or nowhere, then anything; guards stand before or after what they guard."""
    names = [entry.name for entry in inputs]
    shape = random_.choice(("chain", "chain", "star", "none"))
    conditions: list[Condition] = []
    if shape != "none":
        for position in range(1, len(names)):
            left = names[0] if shape == "star" else names[position - 1]
            if random_.random() < 0.75:
                conditions.append(Condition(expressions.equality(left, names[position])))
    for _ in range(random_.choice((0, 0, 1, 1, 2) if conditions else (0, 1, 1, 1, 2))):
        among = random_.sample(names, random_.randint(1, len(names)))
        conditions.append(Condition(expressions.condition(among)))
    left, right = random_.sample(names, 2)
    if random_.random() < 0.15 and (guarded := expressions.raising_condition(left, right)) is not None:
        guard, raising = guarded
        pair = [Condition(guard), Condition(raising, raising=True)]
        conditions += pair if random_.random() < 0.7 else pair[::-1]
    if random_.random() < 0.12 and (python := _python_condition(random_, expressions, left, right)) is not None:
        conditions.append(python)
    return conditions


def _python_condition(random_: random.Random, expressions: Expressions, left: str, right: str) -> Condition | None:
    kind = random_.choice(tuple(TWINS))
    function, twin = random_.choice(TWINS[kind])
    arguments = expressions.column(kind, [left]), expressions.column(kind, [right])
    if arguments[0] is None or arguments[1] is None:
        return None
    sql, promised = f"coalesce({twin.format(*arguments)}, false)", random_.random() < 0.5
    return Condition(sql, False, function, (arguments[0], arguments[1]), promised)


def _interval_conditions(random_: random.Random, inputs: tuple[Input, ...]) -> list[Condition]:
    """Event times bounded on both sides along the chain: every window may be derived."""
    conditions = []
    for first, second in itertools.pairwise(inputs):
        a, b = f"{first.name}.{first.time}", f"{second.name}.{second.time}"
        before, after = random_.choice((1, 4, 9)), random_.choice((0, 2, 6))
        text = f"{b} BETWEEN {a} - INTERVAL {before} SECONDS AND {a} + INTERVAL '{after}' SECOND"
        apart = f"{a} <= {b} + INTERVAL {before} SECONDS AND {b} - {a} <= INTERVAL {after} SECONDS"
        conditions.append(Condition(random_.choice((text, apart))))
    return conditions


def _portable_conditions(random_: random.Random, expressions: Expressions, names: list[str]) -> list[Condition]:
    """Comparisons of plain columns and constants, which mean the same in DuckDB."""
    conditions = []
    for _ in range(random_.randint(1, 3)):
        pieces = []
        for _ in range(random_.randint(1, 2)):
            kind = random_.choice(("int", "int", "real", "wide", "flag", "day"))
            left, right = random_.sample(names, 2)
            a = expressions.column(kind, [left]) or "1"
            b = expressions.column(kind, [right]) or expressions.column(kind, names) or "2"
            sign = random_.choice(("=", "=", "<", "<=", ">", ">=", "<>"))
            comparable = (a[0].isdigit() or b[0].isdigit()) and kind in ("flag", "day")
            pieces.append("1 = 1" if comparable else f"{a} {sign} {b}")
        text = random_.choice((" OR ", " AND ")).join(pieces)
        conditions.append(Condition(f"NOT ({text})" if random_.random() < 0.2 else f"({text})"))
    return conditions


def _random_selection(random_: random.Random, expressions: Expressions, names: list[str]) -> tuple[str, ...]:
    chosen = [f"{name}.id AS {name}_id" for name in names]
    kinds = ("int", "real", "money", "text", "flag", "day", "time", "bytes", "list", "pair", "wide", "local")
    for number in range(random_.randint(0, 4)):
        kind, depth = random_.choice(kinds), random_.choice((0, 0, 1, 2))
        chosen.append(f"{expressions.write(kind, names, depth)} AS c{number}")
    if random_.random() < 0.4:
        chosen.append(
            random_.choice(("result_time", "result_time AS at_last", "date_trunc('MINUTE', result_time) AS minute"))
        )
    if random_.random() < 0.2:
        inner = expressions.write("real", names, 1)
        chosen.append(f"named_struct('n', {names[0]}.id, 'when', result_time, 'x', {inner}) AS nested")
    random_.shuffle(chosen)
    return tuple(chosen)


def _random_strategy(random_: random.Random, names: list[str]) -> str:
    streams = len(names)
    sides = ", ".join(str(random_.randint(1, 3)) for _ in names)
    slices = {name: random_.randint(1, 9) for name in names}
    return random_.choice(
        (
            "Auto()",
            "Auto()",
            f"Partitioned(units={random_.randint(1, 5)})",
            f"Partitioned(units={random_.randint(1, 4)}, groups={random_.choice((4, 50))})",
            f"Biclique(units={random_.randint(1, 4)})",
            f"Biclique(units=({sides}))",
            "Biclique(units=4, groups=2)",
            "Biclique(units=3, groups=3)",
            "Biclique(routing='contrand', archive='2 seconds')",
            f"TimeSliced(units={random_.randint(1, 4)})",
            "TimeSliced(units=3, slices=2, adapt='aggressive')",
            f"TimeSliced(units={random_.randint(2, 4)}, slicing='count')",
            f"TimeSliced(units=4, slices={slices}, goal='throughput', adapt='passive')",
            f"TimeSliced(units=3, interleave={random_.randint(2, 3)}, adapt='off')",
            f"TimeSliced(units=3, slices={slices}, interleave=2, slicing='count', adapt='aggressive')",
            "AlignedRouting('3 seconds', units=3)",
            f"AlignedRouting('20 seconds', units={random_.randint(1, 4)}, master={random_.choice(names)!r})",
            f"CoordinatedRouting({random_.randint(2, 3)})",
            "CoordinatedRouting(2, units=5)",
            *(("Biclique(shape='tree')", "Biclique(units=3, shape='tree')") if streams > 2 else ()),
            *(("Biclique(units=(3, 4), groups=(3, 2))", "Matrix(rows=2, columns=3)") if streams == 2 else ()),
        )
    )
