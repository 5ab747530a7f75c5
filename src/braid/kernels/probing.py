"""Probing rows, and the stored segments they are looked up in."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from braid.kernels.checks import Check, prepare_checks
from braid.kernels.grouping import by_group, common_place
from braid.kernels.keys import Keys, combine, part_keys
from braid.kernels.limits import Limits, limits_of
from braid.kernels.ordering import SortedIndex, range_values
from braid.kernels.ranks import RankIndex
from braid.kernels.rows import Rows
from braid.kernels.times import shifted
from braid.plan.expressions import Constant, Expression, walk
from braid.plan.instants import EARLIEST_US, LATEST_US
from braid.plan.join import JoinPlan, Probe

# All smaller whole numbers are doubles.
EXACT = 2.0**53


# Pairs of each lookup of some rows on which checks are evaluated apart from each other.
SAMPLED_PAIRS = 32


@dataclass
class Counters:
    """Cost and matches of the lookups of a task.

    `probes` counts a row for every segment that its window touches, `visits` once for all segments of a unit and route.
    """

    probes: int = 0
    compared: int = 0
    matched: int = 0
    windows_skipped: int = 0
    visits: int = 0


@dataclass
class Sampling:
    """How many pairs are still to be sampled."""

    pairs: int = SAMPLED_PAIRS


@dataclass(frozen=True)
class StoredSegment:
    """A stored segment with its indexes, sorted by the numbers of `choices`, and the range of its event times.

    If it is `grouped`, the keys of its indexes are in the order of partition groups (`grouping.py`). If it is
    `transient`, it is closed after the lookup: what was found must not refer to its rows.
    """

    rows: Rows
    indexes: tuple[SortedIndex, ...]
    min_time: int
    max_time: int
    choices: tuple[int, ...] = ()
    grouped: bool = False
    transient: bool = False
    _largest: dict[Expression, float] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """The number of rows."""
        return self.rows.length

    def parts(self) -> Iterable[StoredSegment]:
        """What is looked up, one after the other: all of it, since it is open."""
        return (self,)

    def largest(self, number: Expression) -> float:
        """The largest magnitude of a number among the rows, if it is finite."""
        found = self._largest.get(number)
        if found is None:
            values = range_values(number, self.rows)
            least, most = (np.fmin.reduce(values), np.fmax.reduce(values)) if len(values) else (0, 0)
            found = 0.0 if np.isnan(most) else max(abs(float(least)), abs(float(most)))
            self._largest[number] = found
        return found


class Searchable(Protocol):
    """A segment that rows look up, open or not: what is known without reading it, and how it is read.

    The rows of its parts together are its rows; each part is sorted like the whole.
    """

    @property
    def length(self) -> int: ...
    @property
    def min_time(self) -> int: ...
    @property
    def max_time(self) -> int: ...
    @property
    def choices(self) -> tuple[int, ...]: ...
    @property
    def grouped(self) -> bool: ...
    def largest(self, number: Expression) -> float: ...
    def parts(self) -> Iterable[StoredSegment]: ...


@dataclass(frozen=True)
class Window:
    """The event times that each probing row allows for the stored row of one stream, whose time column is `time`."""

    time: str
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]

    def until(self, time_us: int) -> Window:
        return replace(self, latest=np.minimum(self.latest, time_us))


@dataclass(frozen=True)
class Probing:
    """Rows that probe a stream or intermediate result, with all that the lookup needs of them.

    There is a window for every stream of the stored rows; `earliest` and `latest` apply to the time of a stored row as
    computed by `row_times`. `headrooms` are numbers of stored rows, and how large each may be before the
    arithmetic of a comparison may overflow. `rank_indexes` are those of streams with row-based windows.
    `constant_bytes` is what literals add to a result.
    """

    plan: JoinPlan
    probe: Probe
    rows: Rows
    checks: tuple[Check, ...]
    keys: Keys | None
    limits: Limits | None
    windows: tuple[Window, ...]
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    headrooms: tuple[tuple[Expression, float], ...]
    rank_indexes: Mapping[int, RankIndex] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    constant_bytes: int = 0
    sampling: Sampling = field(default_factory=Sampling)

    @cached_property
    def earliest_range(self) -> tuple[int, int]:
        """The smallest and the largest of `earliest`."""
        return int(self.earliest.min()), int(self.earliest.max())

    @cached_property
    def latest_range(self) -> tuple[int, int]:
        """The smallest and the largest of `latest`."""
        return int(self.latest.min()), int(self.latest.max())

    def until(self, time_us: int) -> Probing:
        """The same, for stored rows up to an event time only."""
        windows = tuple(window.until(time_us) for window in self.windows)
        return replace(self, windows=windows, latest=np.minimum(self.latest, time_us))


def prepare(
    plan: JoinPlan,
    joined: tuple[int, ...],
    probe: Probe,
    rows: Rows,
    counters: Counters,
    rank_indexes: Mapping[int, RankIndex] | None = None,
    grouped: bool = False,
) -> Probing:
    """Compute keys, limits and windows of the probing rows, which have the columns of the `joined` streams.

    `grouped`: they look up segments in the order of partition groups.
    """
    windows = _windows(plan, joined, probe.stream, rows)
    limits: Limits | None = None
    headrooms = [(guard.number, limits_of(guard.bounds, rows)[1]) for guard in probe.guards]
    if probe.range is not None:
        limits, spare = limits_of(probe.bounds, rows)
        headrooms.append((probe.range, spare))
        for window in windows:
            if getattr(probe.range, "name", None) == window.time:
                limits = _within(limits, window.earliest, window.latest)
    checks = prepare_checks(plan.conjuncts[number] for number in probe.checks)
    earliest = windows[0].earliest if len(windows) == 1 else _earliest(plan, joined, probe.stream, rows)
    latest = windows[0].latest
    read = (*joined, *plan.members(probe.stream))
    relevant = {stream: rank_index for stream, rank_index in (rank_indexes or {}).items() if stream in read}
    constants = sum(_literal_bytes(output.expression) for output in plan.outputs)
    return Probing(
        plan=plan,
        probe=probe,
        rows=rows,
        checks=checks,
        keys=_keys(plan, probe, rows, grouped),
        limits=limits,
        windows=windows,
        earliest=earliest,
        latest=latest,
        headrooms=tuple((number, room) for number, spare in headrooms if (room := _least(spare)) < math.inf),
        rank_indexes=relevant,
        counters=counters,
        constant_bytes=constants,
    )


def _keys(plan: JoinPlan, probe: Probe, rows: Rows, grouped: bool) -> Keys | None:
    """The keys that the rows search, as the segments have them; None without equalities."""
    keys = [part_keys(plan.parts[part], stream, rows) for part, stream in probe.keys]
    if not keys:
        return None
    return by_group(keys, common_place(plan, [part for part, _ in probe.keys])) if grouped else combine(keys)


def _least(headroom: npt.NDArray[np.float64]) -> float:
    return float(headroom.min(initial=math.inf))


def _literal_bytes(expression: Expression | None) -> int:
    """The bytes of the text literals in an expression, which every row of its value may contain."""
    nodes = () if expression is None else walk(expression)
    return sum(len(node.value) for node in nodes if isinstance(node, Constant) and isinstance(node.value, str | bytes))


def _windows(plan: JoinPlan, joined: tuple[int, ...], number: int, rows: Rows) -> tuple[Window, ...]:
    """The event times stored rows may have: their own windows reach back, those of the joined streams forward."""
    times = {stream: rows.times(plan.streams[stream].time) for stream in joined}
    newest = np.maximum.reduce(list(times.values()))
    latest = np.full(rows.length, LATEST_US)
    for stream, column in times.items():
        reach = plan.streams[stream].window_us
        if reach is not None:
            latest = np.minimum(latest, shifted(column, reach))
    members = [plan.streams[member] for member in plan.members(number)]
    return tuple(Window(member.time, _back(newest, member.window_us), latest) for member in members)


def _earliest(plan: JoinPlan, joined: tuple[int, ...], number: int, rows: Rows) -> npt.NDArray[np.int64]:
    """The earliest time of an intermediate row that may still join: only new rows of its probing stream look it up."""
    probing_stream, kept_us = plan.reaches(number)[0]
    if joined != (probing_stream,):
        raise ValueError("an intermediate result is looked up by new rows of one stream only")
    return _back(rows.times(plan.streams[probing_stream].time), kept_us)


def _back(times: npt.NDArray[np.int64], by_us: int | None) -> npt.NDArray[np.int64]:
    return np.full(len(times), EARLIEST_US) if by_us is None else shifted(times, -by_us)


def _within(limits: Limits, earliest: npt.NDArray[np.int64], latest: npt.NDArray[np.int64]) -> Limits:
    """Limits on the event time, combined with the window's.

    Doubles represent microseconds exactly up to the year 2255; later limits are widened by more than their rounding.
    """
    low, high = earliest.astype(np.float64), latest.astype(np.float64)
    low = np.where(np.abs(low) < EXACT, low, np.nextafter(low, -np.inf))
    high = np.where(np.abs(high) < EXACT, high, np.nextafter(high, np.inf))
    low, high = np.where(earliest == EARLIEST_US, np.nan, low), np.where(latest == LATEST_US, np.nan, high)
    return Limits(np.fmax(limits.lower, low), np.fmin(limits.upper, high))
