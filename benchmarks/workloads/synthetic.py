"""Generated workloads: equality with even and skewed keys, bands, theta, nested loops, wide rows, three streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, TIME, Difference, Feed, PythonCondition, Workload

SEED = 20_260
FIELD = 1_000_000.0  # the side of the field that positions are drawn from

Draw = Callable[[np.random.Generator, int], npt.NDArray[Any]]


def feed(name: str, number: int, rows_per_second: int, draws: Mapping[str, tuple[pa.DataType, Draw]]) -> Feed:
    """A stream with an `id` in sequence, an even `ts`, and columns drawn at random."""
    fields = [("id", pa.int64()), ("ts", TIME), *((column, kind) for column, (kind, _) in draws.items())]
    schema = pa.schema(fields)

    def second(at: int) -> pa.Table:
        random = np.random.default_rng([SEED, number, at])
        offsets = np.sort(random.integers(0, SECOND_US, rows_per_second))
        columns = [
            pa.array(np.arange(at * rows_per_second, (at + 1) * rows_per_second)),
            pa.array((FIRST_SECOND + at) * SECOND_US + offsets).cast(TIME),
            *(pa.array(draw(random, rows_per_second)).cast(kind) for kind, draw in draws.values()),
        ]
        return pa.table(columns, schema=schema)

    return Feed(name, schema, second)


def alike(names: str, rows_per_second: int, draws: Mapping[str, tuple[pa.DataType, Draw]]) -> tuple[Feed, ...]:
    """Streams that differ in their rows only; each has a name of one letter."""
    return tuple(feed(name, number, rows_per_second, draws) for number, name in enumerate(names))


def equality(
    rows_per_second: int = 50_000,
    window_seconds: float = 10,
    seconds_per_batch: float = 1,
    batches: int = 40,
    skew: float = 0.0,
    matches_per_row: float = 5.0,
) -> Workload:
    """`r.k = s.k`: keys even, or Zipf distributed with the same number of results."""
    others = rows_per_second * 2 * window_seconds
    keys = (even_keys(others, matches_per_row),) * 2 if skew == 0 else skewed_keys(others, matches_per_row, skew)
    shape = "even keys" if skew == 0 else f"Zipf {skew:g} keys"
    return Workload(
        name="equality",
        title=f"r.k = s.k, {shape}, window ±{window_seconds:g} s",
        feeds=tuple(
            feed(name, number, rows_per_second, {"k": (pa.int64(), keys[number]), "v": (pa.float64(), _unit)})
            for number, name in enumerate("rs")
        ),
        on="r.k = s.k",
        select=("r.id AS r_id", "s.id AS s_id", "r.v AS r_v", "s.v AS s_v"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        equal_columns=("k",),
    )


def band(
    rows_per_second: int = 1_000,
    window_seconds: float = 10,
    seconds_per_batch: float = 1,
    batches: int = 40,
    matches_per_row: float = 1.0,
) -> Workload:
    """`|r.x - s.x| <= d`, with d chosen for the number of results a row has."""
    others = rows_per_second * 2 * window_seconds
    distance = round(matches_per_row * FIELD / others / 2, 3)
    roomy = distance + 0.001
    draws = {"x": (pa.float64(), _place)}
    return Workload(
        name="band",
        title=f"|r.x - s.x| <= d, about {matches_per_row:g} results a row, window ±{window_seconds:g} s",
        feeds=alike("rs", rows_per_second, draws),
        on=f"abs(r.x - s.x) <= {distance}",
        select=("r.id AS r_id", "s.id AS s_id", "r.x AS r_x", "s.x AS s_x"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        differences=(Difference("x", "<=", distance), Difference("x", ">=", -distance)),
        expected_on=f"r.x BETWEEN s.x - {roomy} AND s.x + {roomy} AND abs(r.x - s.x) <= {distance}",
    )


def theta(
    rows_per_second: int = 1_000,
    window_seconds: float = 10,
    seconds_per_batch: float = 1,
    batches: int = 40,
    matches_per_row: float = 1.0,
) -> Workload:
    """Two inequalities on two attributes: `r` is inside the interval that `s` carries, and weighs more."""
    others = rows_per_second * 2 * window_seconds
    length = round(2 * matches_per_row * FIELD / others, 3)
    draws = {"x": (pa.float64(), _place), "w": (pa.float64(), _unit)}
    return Workload(
        name="theta",
        title=f"r.x > s.x, r.x - s.x < d and r.w > s.w, window ±{window_seconds:g} s",
        feeds=alike("rs", rows_per_second, draws),
        on=f"r.x > s.x AND r.x - s.x < {length} AND r.w > s.w",
        select=("r.id AS r_id", "s.id AS s_id", "r.x AS r_x", "s.w AS s_w"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        differences=(Difference("x", ">", 0.0), Difference("x", "<", length), Difference("w", ">", 0.0)),
        # DuckDB makes a range join of the first two inequalities between the sides, and filters by what mixes them.
        expected_on=f"r.x BETWEEN s.x AND s.x + {length + 0.001} AND r.x - s.x > 0 AND r.x - s.x < {length} "
        "AND r.w - s.w > 0",
    )


def nested_loop(
    rows_per_second: int = 2_500,
    window_seconds: float = 10,
    seconds_per_batch: float = 2,
    batches: int = 20,
    by: str = "sql",
    matches_per_row: float = 0.1,
) -> Workload:
    """A distance in the plane that no index serves: as SQL, or as a Python function."""
    others = rows_per_second * 2 * window_seconds
    reach = round(FIELD * (matches_per_row / others / np.pi) ** 0.5, 3)
    squared = reach * reach
    draws = {"x": (pa.float64(), _place), "y": (pa.float64(), _place)}
    text = f"(r.x - s.x) * (r.x - s.x) + (r.y - s.y) * (r.y - s.y) <= {squared}"
    function = None
    if by == "function":
        function = PythonCondition(partial(near, squared), ("r.x", "r.y", "s.x", "s.y"))
    return Workload(
        name="nested_loop",
        title=f"distance in the plane by {by}, nested loop, window ±{window_seconds:g} s",
        feeds=alike("rs", rows_per_second, draws),
        on=text,
        select=("r.id AS r_id", "s.id AS s_id"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        function=function,
        cells=(("x", "y"), reach + 0.001),
    )


def near(squared: float, rx: pa.Array, ry: pa.Array, sx: pa.Array, sy: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether two points are near, for arrays of candidate pairs."""
    dx = rx.to_numpy() - sx.to_numpy()
    dy = ry.to_numpy() - sy.to_numpy()
    inside: npt.NDArray[np.bool_] = dx * dx + dy * dy <= squared
    return inside


def wide(
    rows_per_second: int = 10_000, window_seconds: float = 10, seconds_per_batch: float = 1, batches: int = 30
) -> Workload:
    """Rows of about 1,250 bytes, few of which find a partner."""
    draws = {"k": (pa.int64(), even_keys(rows_per_second * 2 * window_seconds, 0.1)), "payload": (pa.string(), _text)}
    return Workload(
        name="wide",
        title=f"r.k = s.k, rows of 1,250 bytes, one in ten with a partner, window ±{window_seconds:g} s",
        feeds=alike("rs", rows_per_second, draws),
        on="r.k = s.k",
        select=("r.id AS r_id", "s.id AS s_id", "r.payload AS r_payload", "s.payload AS s_payload"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        equal_columns=("k",),
    )


def many(
    streams: int = 3,
    rows_per_second: int = 10_000,
    window_seconds: float = 10,
    seconds_per_batch: float = 1,
    batches: int = 30,
    by: str = "equality",
) -> Workload:
    """Three and more streams: one key in all of them, or a chain of bands from each to the next."""
    names = "abcdefgh"[:streams]
    others = rows_per_second * window_seconds
    if by == "equality":
        draws = {"k": (pa.int64(), even_keys(others, 1.0))}
        parts = [f"{one}.k = {other}.k" for one, other in pairwise(names)]
        expected = None
    else:
        distance = round(FIELD / others / 2, 3)
        draws = {"x": (pa.float64(), _place)}
        pairs = list(pairwise(names))
        parts = [f"abs({one}.x - {other}.x) <= {distance}" for one, other in pairs]
        roomy = distance + 0.001
        sides = [f"{one}.x BETWEEN {other}.x - {roomy} AND {other}.x + {roomy}" for one, other in pairs]
        expected = " AND ".join(sides + parts)
    return Workload(
        name="many",
        title=f"{streams} streams, {by}, window {window_seconds:g} s",
        feeds=alike(names, rows_per_second, draws),
        on=" AND ".join(parts),
        select=tuple(f"{name}.id AS {name}_id" for name in names),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
        equal_columns=("k",) if by == "equality" else (),
        expected_on=expected,
    )


def history(
    rows_per_second: int = 10_000, seconds_per_batch: float = 1, batches: int = 60, results_per_row: float = 1.0
) -> Workload:
    """No window: every row is kept, and may still meet a partner."""
    total = rows_per_second * seconds_per_batch * batches
    draws = {"k": (pa.int64(), even_keys(total, results_per_row)), "v": (pa.float64(), _unit)}
    return Workload(
        name="history",
        title="r.k = s.k over the whole history",
        feeds=alike("rs", rows_per_second, draws),
        on="r.k = s.k",
        select=("r.id AS r_id", "s.id AS s_id", "r.v AS r_v", "s.v AS s_v"),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=None,
        equal_columns=("k",),
    )


def even_keys(others: float, matches: float) -> Draw:
    """Keys drawn evenly, with `matches` of `others` rows having the same."""
    count = max(1, round(others / matches))
    return lambda random, rows: random.integers(0, count, rows)


def skewed_keys(others: float, matches: float, exponent: float) -> tuple[Draw, Draw]:
    """Zipf keys for two streams, with as many matches as even keys have.

    Both streams are skewed alike, but the ranks of one are shifted against those of the other: what is hot in one is
    rare in the other. The shift is the one that gives the number of matches.
    """
    count = max(2, round(others / matches))
    frequencies = 1.0 / np.arange(1, count + 1) ** exponent
    shares = frequencies / frequencies.sum()
    edges = np.cumsum(shares)
    low, high = 0, count // 2
    while low < high:
        middle = (low + high) // 2
        if others * float(shares @ np.roll(shares, middle)) > matches:
            low = middle + 1
        else:
            high = middle

    def draw(shift: int, random: np.random.Generator, rows: int) -> npt.NDArray[Any]:
        ranks = np.searchsorted(edges, random.random(rows) * edges[-1])
        keys: npt.NDArray[Any] = (ranks + shift) % count
        return keys

    return partial(draw, 0), partial(draw, low)


def _unit(random: np.random.Generator, rows: int) -> npt.NDArray[Any]:
    return random.random(rows)


def _place(random: np.random.Generator, rows: int) -> npt.NDArray[Any]:
    return random.random(rows) * FIELD


def _text(random: np.random.Generator, rows: int) -> npt.NDArray[Any]:
    letters = random.integers(97, 123, (rows, 1_220), dtype=np.uint8)
    return letters.view("S1220").ravel()
