"""Random join cases: a logical plan for the engine and the same query, written again, for the oracle.

Every predicate is made twice: as an expression tree, and as a Python function with SQL's NULLs and Spark's NaN
(equal to itself, above everything). A case is decided by its seed alone.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from braid.optimizer.build import build_plan
from braid.optimizer.exchange import RequestedExchange
from braid.optimizer.strategies import (
    AlignedRouting,
    Auto,
    Biclique,
    CoordinatedRouting,
    Matrix,
    Partitioned,
    Strategy,
    TimeSliced,
)
from braid.plan.logical import LogicalPlan
from braid.plan.site_names import Site
from braid.testing import (
    Draft,
    OracleStream,
    answer,
    on_time_rows,
)
from braid.testing.drafts import arrow_type
from braid.testing.oracle import comparable
from tests.properties.predicates import COLUMNS, Predicate, random_keys, random_predicates
from tests.properties.sites import some_semijoins
from tests.properties.slicing import some_slices

HUGE = (2**62, -(2**62), 2**53 + 1)
TRICKY = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1e300, -1e300)

# At the ends of their types, and beyond 64 bits.
PRICES = (10**10 - 1, 1 - 10**10, 10**9 + 5)
AMOUNTS = (10**27, -(10**27), 10**27 + 500, 2**63, -(2**63), 2**64)
Rows = dict[str, list[dict[str, Any]]]
SITES = ("north", "south", "east")


@dataclass(frozen=True)
class Case:
    """Streams, predicates and batches of rows."""

    seed: int
    streams: tuple[OracleStream, ...]
    predicates: tuple[Predicate, ...]
    batches: tuple[Rows, ...]
    clock_ms: tuple[int, ...]
    ordered: bool = False
    started_ms: tuple[int, ...] | None = None

    @cached_property
    def logical_plan(self) -> LogicalPlan:
        draft = Draft()
        made = {
            stream.name: draft.stream(
                stream.name,
                COLUMNS,
                window_us=stream.window_us,
                lateness_us=stream.lateness_us,
                idle_after_ms=stream.idle_after_ms,
                window_rows=stream.window_rows,
                max_ahead_us=stream.max_ahead_us,
                site=Site(SITES[number % len(SITES)]),
            )
            for number, stream in enumerate(self.streams)
        }
        for predicate in self.predicates:
            draft.on(predicate.make(made))
        return draft.ordered().logical_plan() if self.ordered else draft.logical_plan()

    @cached_property
    def expected(self) -> Counter[tuple[Any, ...]]:
        rows = on_time_rows(self.streams, self.batches, self.clock_ms, self.started_ms)
        return answer(self.streams, rows, [predicate.condition for predicate in self.predicates])

    def restarted(self) -> Case:
        """The same, taken by a run per batch."""
        return replace(self, started_ms=self.clock_ms)

    @property
    def late(self) -> int:
        given = sum(len(rows) for batch in self.batches for rows in batch.values())
        return given - sum(len(rows) for rows in on_time_rows(self.streams, self.batches, self.clock_ms).values())

    def tables(self, batch: int) -> dict[str, pa.Table]:
        return {name: to_table(rows) for name, rows in self.batches[batch].items()}

    def reordered(self, chance: random.Random) -> Case:
        """The same streams, joined in another order."""
        return replace(self, streams=tuple(chance.sample(self.streams, len(self.streams))))

    def recut(self, chance: random.Random, batches: int | None = None) -> Case:
        """The same rows in other batches, some or so many; only for a case in which nothing can be late."""
        everything = [(name, row) for batch in self.batches for name, rows in batch.items() for row in rows]
        chance.shuffle(everything)
        count = chance.randint(1, 5) if batches is None else batches
        dealt = tuple(_deal(chance, [s.name for s in self.streams], everything, count))
        return replace(self, batches=dealt, clock_ms=tuple(range(len(dealt))))

    def describe(self) -> str:
        lines = [f"BRAID_SEED={self.seed}", *(str(stream) for stream in self.streams)]
        return "\n".join([*lines, *(predicate.text for predicate in self.predicates)])


def to_table(rows: Sequence[dict[str, Any]]) -> pa.Table:
    types = {"ts": pa.timestamp("us", "UTC"), **{name: arrow_type(type) for name, type in COLUMNS.items()}}
    return pa.table({name: pa.array([row[name] for row in rows], type) for name, type in types.items()})


def results_of(case: Case, table: pa.Table) -> Counter[tuple[Any, ...]]:
    """Published rows as the oracle writes them: columns in the case's order, times as microseconds."""
    names = [f"{stream.name}_{column}" for stream in case.streams for column in ("ts", *COLUMNS)]
    columns = []
    for name in [*names, "result_time"]:
        column = table.column(name)
        column = column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column
        columns.append([comparable(value) for value in column.to_pylist()])
    return Counter(zip(*columns, strict=True))


def same_columns(case: Case, other: Case, results: Counter[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Results of a case with its streams in another order, in the order of `case`."""
    width = 1 + len(COLUMNS)
    places = [[s.name for s in other.streams].index(stream.name) for stream in case.streams]
    return Counter(
        {(*(v for p in places for v in row[p * width : (p + 1) * width]), row[-1]): n for row, n in results.items()}
    )


def strategies(logical_plan: LogicalPlan, chance: random.Random) -> list[Strategy]:
    """Every kind of strategy that can run the query, with random units."""
    streams = len(logical_plan.streams)
    found: list[Strategy] = [Auto(), Biclique(tuple(chance.randint(1, 4) for _ in range(streams)))]
    plan = build_plan(logical_plan)
    if any(stream.routing is not None for stream in plan.streams):
        found.append(Biclique(tuple(chance.randint(1, 5) for _ in range(streams)), routing="range"))
        found.append(Biclique(chance.randint(2, 4), groups=chance.randint(1, 4), routing="range"))
    if plan.common_part is not None:
        groups = tuple(chance.randint(1, 4) for _ in range(streams))
        found.append(Partitioned(chance.randint(1, 5)))
        found.append(Partitioned(chance.randint(1, 4), groups=chance.choice((4, 7, 40))))
        found.append(Biclique(tuple(chance.randint(parts, 5) for parts in groups), groups))
        found.append(Biclique(routing="contrand", archive=timedelta(microseconds=chance.choice((1, 7, 1000)))))
    found += trees(logical_plan, chance)
    found.append(some_slices(logical_plan, chance))
    found.append(replace(some_slices(logical_plan, chance), slicing="count", adapt="aggressive"))
    found += [aligned(logical_plan, chance), coordinated(logical_plan, chance), some_semijoins(chance)]
    if streams == 2:
        found.append(Matrix(chance.randint(1, 3), chance.randint(1, 3)))
    return found


def aligned(logical_plan: LogicalPlan, chance: random.Random) -> AlignedRouting:
    """Aligned routing with any master and segments from far shorter than the windows to far longer."""
    length = timedelta(microseconds=chance.choice((1, 3, 10, 40, 1000)))
    names = [None, *(stream.name for stream in logical_plan.streams)]
    return AlignedRouting(length, chance.randint(1, 5), chance.choice(names))


def coordinated(logical_plan: LogicalPlan, chance: random.Random) -> CoordinatedRouting:
    """Coordinated routing with a few copies, on as many units as are needed or more."""
    copies = chance.choice((2, 2, 3, 5))
    return CoordinatedRouting(copies, chance.choice((None, 2 * copies, 2 * copies + chance.randint(1, 4))))


def some_exchange(logical_plan: LogicalPlan, chance: random.Random) -> RequestedExchange:
    """Either exchange; files where windows count rows, which a shuffle cannot do."""
    counted = any(stream.window_rows is not None for stream in logical_plan.streams)
    return "files" if counted else chance.choice(("files", "shuffle"))


def trees(logical_plan: LogicalPlan, chance: random.Random) -> list[Biclique]:
    """Trees of bicliques with random units; none where windows count rows, which they cannot do."""
    streams = len(logical_plan.streams)
    if streams > 2 and any(stream.window_rows is not None for stream in logical_plan.streams):
        return []
    found = [Biclique(tuple(chance.randint(1, 4) for _ in range(streams)), shape="tree")]
    plan = build_plan(logical_plan)
    if any(stream.routing is not None for stream in plan.streams):
        found.append(Biclique(chance.randint(1, 4), routing="range", shape="tree"))
    if plan.common_part is not None:
        groups = tuple(chance.randint(1, 3) for _ in range(streams))
        found.append(Biclique(tuple(chance.randint(parts, 4) for parts in groups), groups, shape="tree"))
        found.append(Biclique(routing="contrand", archive=timedelta(microseconds=7), shape="tree"))
    return found


def interleaved(logical_plan: LogicalPlan, chance: random.Random) -> TimeSliced:
    """Slices of event time at random units, with rounds of several steps in one job."""
    return replace(some_slices(logical_plan, chance), units=chance.randint(2, 4), interleave=chance.randint(2, 4))


def make_case(
    seed: int, *, small: bool = False, nothing_late: bool = False, shares: tuple[int, ...] = (60, 30, 10)
) -> Case:
    """A random case. `small` for many runs of it; `nothing_late` for cases that may be cut again.

    `shares` are those of cases with two, three, four and more streams.
    """
    chance = random.Random(seed)
    count = chance.choices(range(2, 2 + len(shares)), shares)[0]
    names = [f"s{number}" for number in range(count)]
    streams = _streams(chance, names, nothing_late)
    rows = (10 if small else 40) if count == 2 else ((7 if small else 16) if count == 3 else (5 if small else 9))
    span = chance.choice((8, 30, 100))
    everything = _rows(chance, names, rows, span)
    cuts = chance.randint(3, 5) if small else chance.choice((chance.randint(1, 7), chance.randint(1, 7), 12))
    batches = tuple(_deal(chance, names, everything, cuts))
    clock = [0]
    for _ in batches[1:]:
        clock.append(clock[-1] + chance.choice((0, 5, 40)))
    return Case(seed, streams, tuple(random_predicates(chance, names)), batches, tuple(clock))


def make_keyed_case(seed: int, batches: int = 12) -> Case:
    """Streams with a common key and many batches; nothing is late, and most rows have partners in other batches."""
    chance = random.Random(seed)
    count = chance.choices((2, 3, 4), (50, 35, 15))[0]
    names = [f"s{number}" for number in range(count)]
    window = chance.choice((None, None, 8, 30))
    streams = tuple(OracleStream(name, window, 25) for name in names)
    most, keys = {2: (60, 12), 3: (30, 8), 4: (12, 3)}[count]
    rows = [(name, _row(chance, chance.randint(0, 60), n, keys)) for name in names for n in range(most)]
    rows.sort(key=lambda entry: entry[1]["ts"] + chance.uniform(-10, 10))
    dealt = tuple(_deal(chance, names, rows, batches))
    return Case(seed, streams, tuple(random_keys(chance, names)), dealt, tuple(range(0, 10 * batches, 10)))


def _streams(chance: random.Random, names: list[str], nothing_late: bool) -> tuple[OracleStream, ...]:
    kind = chance.choice(("same", "same", "mixed", "unbounded"))
    one = chance.choice((0, 5, 10, 50))
    found = []
    for name in names:
        window = {"same": one, "mixed": chance.choice((0, 5, 20, None)), "unbounded": None}[kind]
        lateness = None if nothing_late else chance.choice((0, 3, 15, 200, 200, None))
        idle = None if nothing_late else chance.choice((None, None, None, 30))
        found.append(OracleStream(name, window, lateness, idle))
    return tuple(found)


def _rows(chance: random.Random, names: list[str], count: int, span: int) -> list[tuple[str, dict[str, Any]]]:
    """Rows in arrival order: mostly by time, some of them far out of place, some of them twice."""
    disorder = chance.choice((0, 2, 10, 100))
    keys = chance.choice((1, 2, 4, 12))
    found = []
    for name in names:
        for number in range(chance.randint(count // 2, count)):
            time = chance.randint(0, span)
            row = _row(chance, None if chance.random() < 0.03 else time, number, keys)
            arrival = time + chance.uniform(-disorder, disorder)
            found += [(arrival, name, row)] * (2 if chance.random() < 0.08 else 1)
    found.sort(key=lambda entry: entry[0])
    return [(name, row) for _, name, row in found]


def _row(chance: random.Random, time: int | None, number: int, keys: int) -> dict[str, Any]:
    def sometimes_null(value: Any) -> Any:
        return None if chance.random() < 0.06 else value

    tricky = chance.random() < 0.1
    x = chance.choice(TRICKY) if tricky else chance.choice((0.1, 0.05, 1.0)) * chance.randint(-8, 8)
    return {
        "ts": time,
        "id": number,
        "k": sometimes_null(chance.randint(0, keys)),
        "j": sometimes_null(chance.choice(HUGE) if tricky else chance.randint(-keys, keys)),
        "x": sometimes_null(x),
        "f": sometimes_null(float(np.float32(chance.choice(TRICKY[:5]) if tricky else 0.1 * chance.randint(-9, 9)))),
        "s": sometimes_null(chance.choice(("", "a", "b", "ß", "aa")[: keys + 1])),
        "u": sometimes_null(chance.randint(0, 20)),
        "m": sometimes_null(Decimal(chance.choice(PRICES) if tricky else chance.randint(-8, 8) * 5).scaleb(-2)),
        "w": sometimes_null(Decimal(chance.choice(AMOUNTS) if tricky else chance.randint(-8, 8) * 500).scaleb(-4)),
    }


def _deal(chance: random.Random, names: list[str], rows: list[tuple[str, dict[str, Any]]], count: int) -> list[Rows]:
    """Rows cut into batches; a stream may bring nothing, as an empty table or none at all."""
    cuts = sorted(chance.randint(0, len(rows)) for _ in range(count - 1))
    batches: list[Rows] = []
    for start, stop in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        batch: Rows = {name: [] for name in names}
        for name, row in rows[start:stop]:
            batch[name].append(row)
        batches.append({n: part for n, part in batch.items() if part or chance.random() < 0.5})
    return batches
