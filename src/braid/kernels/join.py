"""The join of probing rows with one stored segment: candidates from an index, then every check, exactly.

Candidates come in bounded pieces, so memory does not grow with the number of matches. Where there is no key to
search on, pieces are tiles: a few probing rows against a stretch of stored rows, compared by broadcasting, which
keeps operands in cache and gathers only what matched.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from braid.errors import PredicateError
from braid.kernels.evaluate import evaluate, is_true, tileable
from braid.kernels.keys import Keys, combine, part_keys
from braid.kernels.ordering import SortedIndex
from braid.kernels.rows import Pairs, Positions, Rows
from braid.kernels.search import Limits, Ranges, expand, search
from braid.kernels.vectors import Vector, magnitude
from braid.plan.join import Bound, JoinPlan, Probe
from braid.plan.predicate import Conjunct, PythonPredicate

PAIRS_AT_ONCE = 1 << 17
TILE_PROBES = 64
TILE_STORED = 512
TILE_WORTH = 0.25
EARLIEST = np.iinfo(np.int64).min
LATEST = np.iinfo(np.int64).max

Mask = npt.NDArray[np.bool_]


@dataclass
class Counters:
    """What the lookups of a task cost and gave."""

    probes: int = 0
    compared: int = 0
    matched: int = 0
    windows_skipped: int = 0


@dataclass(frozen=True)
class StoredSegment:
    """A stored segment with its indexes, and the span of its event times."""

    rows: Rows
    indexes: tuple[SortedIndex, ...]
    min_time: int
    max_time: int


@dataclass(frozen=True)
class Probing:
    """Rows about to be looked up in a stream, with what the lookup needs of them.

    `earliest` and `latest` are the event times the window allows for the stored row; `room` how large a stored number
    may be before the integer arithmetic of a bound could overflow.
    """

    plan: JoinPlan
    probe: Probe
    rows: Rows
    keys: Keys | None
    limits: Limits | None
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    room: float
    counters: Counters = field(default_factory=Counters)


def prepare(plan: JoinPlan, joined: tuple[int, ...], probe: Probe, rows: Rows, counters: Counters) -> Probing:
    """Compute keys, limits and window of the probing rows, which hold the columns of the `joined` streams."""
    keys = [part_keys(plan.parts[part], stream, rows) for part, stream in probe.keys]
    earliest, latest = _window(plan, joined, probe.stream, rows)
    index = plan.streams[probe.stream].indexes[probe.index]
    limits, room = None, math.inf
    if index.range is not None:
        limits, room = _limits(probe.bounds, rows)
        if getattr(index.range, "name", None) == plan.streams[probe.stream].time:
            limits = _within(limits, earliest, latest)
    return Probing(plan, probe, rows, combine(keys) if keys else None, limits, earliest, latest, room, counters)


def match(probing: Probing, segment: StoredSegment) -> Iterator[Pairs]:
    """The pairs of probing and stored rows that pass the window and every check of the probe."""
    if not _may_meet(probing, segment):
        return
    counters = probing.counters
    counters.probes += probing.rows.length
    index = segment.indexes[probing.probe.index]
    checks = [probing.plan.conjuncts[number] for number in probing.probe.checks]
    overflows = math.isfinite(probing.room) and index.largest > probing.room
    limits = None if overflows else probing.limits
    for ranges in search(index, probing.keys, limits, probing.rows.length):
        counters.compared += ranges.total
        if probing.keys is None and index.positions is None and _tiles_pay(ranges, checks):
            found = _match_tiles(probing, segment, ranges, checks)
        else:
            found = _match_pairs(probing, segment, index, ranges, checks)
        for pairs in found:
            counters.matched += pairs.length
            yield pairs


def check_rows(rows: Rows, checks: list[Conjunct]) -> Positions:
    """The positions of the rows that pass every check, for rows that hold all columns themselves."""
    everywhere = np.arange(rows.length)
    nothing = Rows({}, {}, 0)
    return _check(Pairs(rows, nothing, everywhere, everywhere), checks).left_positions


def _match_pairs(
    probing: Probing, segment: StoredSegment, index: SortedIndex, ranges: Ranges, checks: list[Conjunct]
) -> Iterator[Pairs]:
    for probes, places in expand(ranges, PAIRS_AT_ONCE):
        pairs = Pairs(probing.rows, segment.rows, probes, index.rows_at(places))
        if _window_matters(probing, segment):
            pairs = pairs.where(_window_mask(probing, segment, pairs))
        pairs = _check(pairs, checks)
        if pairs.length:
            yield pairs


def _match_tiles(probing: Probing, segment: StoredSegment, ranges: Ranges, checks: list[Conjunct]) -> Iterator[Pairs]:
    times = segment.rows.times(probing.plan.streams[probing.probe.stream].time)
    windowed = _window_matters(probing, segment)
    functions = [number for number, check in enumerate(checks) if check.function is not None]
    dense, rest = (checks[: functions[0]], checks[functions[0] :]) if functions else (checks, [])
    for first in range(0, probing.rows.length, TILE_PROBES):
        some = slice(first, min(first + TILE_PROBES, probing.rows.length))
        begin, end = int(ranges.start[some].min()), int(ranges.stop[some].max())
        for start in range(begin, end, TILE_STORED):
            stretch = slice(start, min(start + TILE_STORED, end))
            inside = _in_ranges(ranges, some, stretch)
            if windowed:
                inside = _both(inside, _in_window(probing, some, times[stretch]))
            pairs = _tile_pairs(probing, segment, some, stretch, inside, dense)
            pairs = _check(pairs, rest)
            if pairs.length:
                yield pairs


def _tile_pairs(
    probing: Probing, segment: StoredSegment, some: slice, stretch: slice, inside: Mask | None, dense: list[Conjunct]
) -> Pairs:
    """The pairs of a tile that pass the checks; those that raise on the whole tile run on the pairs left."""
    mask = inside
    rest: list[Conjunct] = []

    def lookup(name: str) -> Vector:
        return _broadcast(probing, segment, name, some, stretch)

    for number, check in enumerate(dense):
        try:
            passed = is_true(evaluate(_expression(check), lookup))
        except PredicateError:
            rest = dense[number:]
            break
        mask = passed if mask is None else mask & passed
    shape = (some.stop - some.start, stretch.stop - stretch.start)
    found = np.flatnonzero(np.ones(shape, bool) if mask is None else np.broadcast_to(mask, shape))
    probes, places = np.divmod(found, shape[1])
    return _check(Pairs(probing.rows, segment.rows, probes + some.start, places + stretch.start), rest)


def _broadcast(probing: Probing, segment: StoredSegment, name: str, some: slice, stretch: slice) -> Vector:
    if name in probing.rows.columns:
        vector, cut, shape = probing.rows.vector(name), some, (-1, 1)
    else:
        vector, cut, shape = segment.rows.vector(name), stretch, (1, -1)
    valid = None if vector.valid is None else vector.valid[cut].reshape(shape)
    return Vector(np.asarray(vector.values)[cut].reshape(shape), valid, magnitude(vector))


def _check(pairs: Pairs, checks: list[Conjunct]) -> Pairs:
    """Each check in turn, on the pairs that passed those before it."""
    for check in checks:
        if pairs.length == 0:
            return pairs
        if check.function is not None:
            passed = _call(check, check.function, pairs)
        else:
            passed = is_true(evaluate(_expression(check), pairs.vector))
        pairs = pairs.where(np.broadcast_to(passed, (pairs.length,)))
    return pairs


def _call(check: Conjunct, predicate: PythonPredicate, pairs: Pairs) -> Mask:
    """A Python predicate on candidate pairs, distrusted: its result must be one boolean a pair."""
    arrays = [pairs.array(column.name) for column in check.columns]
    arrays = [arrays[_position(check, name)] for name in predicate.columns]
    try:
        result = predicate.function(*arrays)
    except Exception as error:  # the function is the user's own, and may raise anything
        raise PredicateError(
            f"The Python predicate {predicate.name} raised {type(error).__name__}: {error}",
            hint="Fix the function and start the query again: it continues with the same batch.",
        ) from error
    if isinstance(result, pa.ChunkedArray):
        result = result.combine_chunks()
    if isinstance(result, pa.Array):
        if not pa.types.is_boolean(result.type):
            raise _wrong(predicate, f"an Arrow array of type {result.type}")
        result = result.fill_null(False).to_numpy(zero_copy_only=False)
    if not isinstance(result, np.ndarray) or result.dtype != np.bool_ or result.ndim != 1:
        raise _wrong(predicate, _describe(result))
    if len(result) != pairs.length:
        raise _wrong(predicate, f"{len(result)} values for {pairs.length} pairs")
    return result


def _position(check: Conjunct, name: str) -> int:
    return next(number for number, column in enumerate(check.columns) if column.name == name)


def _describe(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"a NumPy array of type {result.dtype} and {result.ndim} dimensions"
    return f"a {type(result).__name__}"


def _wrong(predicate: PythonPredicate, got: str) -> PredicateError:
    return PredicateError(
        f"The Python predicate {predicate.name} returned {got}.",
        hint="Return a boolean Arrow or NumPy array with one value for each candidate pair.",
    )


def _expression(check: Conjunct) -> Any:
    return check.expression


def _tiles_pay(ranges: Ranges, checks: list[Conjunct]) -> bool:
    """Whether comparing whole tiles wastes little: neighbouring rows must share most of their ranges."""
    if not all(check.function is not None or tileable(_expression(check)) for check in checks):
        return False
    if not any(check.expression is not None for check in checks):
        return False
    starts, stops = ranges.start, ranges.stop
    edges = np.arange(0, len(starts), TILE_PROBES)
    area = (np.maximum.reduceat(stops, edges) - np.minimum.reduceat(starts, edges)).sum() * TILE_PROBES
    return bool(ranges.total >= TILE_WORTH * area)


def _in_ranges(ranges: Ranges, some: slice, stretch: slice) -> Mask | None:
    """Which cells of a tile are candidates; None when all are."""
    start, stop = ranges.start[some], ranges.stop[some]
    if start.max() <= stretch.start and stop.min() >= stretch.stop:
        return None
    places = np.arange(stretch.start, stretch.stop)[None, :]
    inside: Mask = (places >= start[:, None]) & (places < stop[:, None])
    return inside


def _in_window(probing: Probing, some: slice, times: npt.NDArray[np.int64]) -> Mask | None:
    """Which cells of a tile are within the window; None when all are."""
    earliest, latest = probing.earliest[some], probing.latest[some]
    if times.min() >= earliest.max() and times.max() <= latest.min():
        return None
    inside: Mask = (times >= earliest[:, None]) & (times <= latest[:, None])
    return inside


def _both(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _may_meet(probing: Probing, segment: StoredSegment) -> bool:
    return (
        probing.rows.length > 0
        and segment.rows.length > 0
        and segment.max_time >= int(probing.earliest.min())
        and segment.min_time <= int(probing.latest.max())
    )


def _window_matters(probing: Probing, segment: StoredSegment) -> bool:
    """Whether some stored row may be outside the window of some probing row."""
    inside = segment.min_time >= int(probing.earliest.max()) and segment.max_time <= int(probing.latest.min())
    probing.counters.windows_skipped += inside
    return not inside


def _window_mask(probing: Probing, segment: StoredSegment, pairs: Pairs) -> Mask:
    times = segment.rows.times(probing.plan.streams[probing.probe.stream].time)[pairs.right_positions]
    mask: Mask = times >= probing.earliest[pairs.left_positions]
    mask &= times <= probing.latest[pairs.left_positions]
    return mask


def _window(
    plan: JoinPlan, joined: tuple[int, ...], stream: int, rows: Rows
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The event times a row of `stream` may have: its own window reaches back, those of the joined reach forward."""
    times = {number: rows.times(plan.streams[number].time) for number in joined}
    window_us = plan.streams[stream].window_us
    newest = np.maximum.reduce(list(times.values()))
    earliest = np.full(rows.length, EARLIEST) if window_us is None else newest - window_us
    latest = np.full(rows.length, LATEST)
    for number, column in times.items():
        reach = plan.streams[number].window_us
        if reach is not None:
            latest = np.minimum(latest, column + reach)
    return earliest, latest


def _limits(bounds: tuple[Bound, ...], rows: Rows) -> tuple[Limits, float]:
    """The tightest limits of all bounds, widened by the rounding their evaluation may suffer, and the room left."""
    room = math.inf
    lower, upper = np.full(rows.length, np.nan), np.full(rows.length, np.nan)
    for bound in bounds:
        terms = [(1.0, e) for e in bound.plus] + [(-1.0, e) for e in bound.minus]
        values = np.full(rows.length, bound.offset)
        magnitude = np.full(rows.length, abs(bound.offset))
        with np.errstate(all="ignore"):
            for sign, expression in terms:
                term = np.asarray(evaluate(expression, rows.vector).values).astype(np.float64)
                values = values + sign * term
                magnitude = magnitude + np.abs(term)
            slack = bound.epsilon * magnitude
            if bound.capacity is not None:
                room = min(room, bound.capacity - float((magnitude + slack).max(initial=0.0)))
            end = values - slack if bound.side == "lower" else values + slack
        end = np.where(np.isfinite(end), end, np.nan)
        lower, upper = (np.fmax(lower, end), upper) if bound.side == "lower" else (lower, np.fmin(upper, end))
    return Limits(lower, upper), room


def _within(limits: Limits, earliest: npt.NDArray[np.int64], latest: npt.NDArray[np.int64]) -> Limits:
    """Limits on the event time, with the window's; doubles hold microseconds exactly up to the year 2255."""
    low = np.where(earliest == EARLIEST, np.nan, np.nextafter(earliest.astype(np.float64), -np.inf))
    high = np.where(latest == LATEST, np.nan, np.nextafter(latest.astype(np.float64), np.inf))
    return Limits(np.fmax(limits.lower, low), np.fmin(limits.upper, high))
