"""Rows about to be looked up, and the stored segments they are looked up in."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from braid.kernels.checks import Check, prepare_checks
from braid.kernels.evaluate import evaluate
from braid.kernels.keys import Keys, combine, part_keys
from braid.kernels.ordering import SortedIndex
from braid.kernels.ranks import Ruler
from braid.kernels.rows import Rows
from braid.kernels.search import Limits
from braid.plan.join import Bound, JoinPlan, Probe

EARLIEST = np.iinfo(np.int64).min
LATEST = np.iinfo(np.int64).max


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
    may be before the integer arithmetic of a bound could overflow. `rulers` count the rows of streams whose windows do.
    """

    plan: JoinPlan
    probe: Probe
    rows: Rows
    checks: tuple[Check, ...]
    keys: Keys | None
    limits: Limits | None
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    room: float
    rulers: Mapping[int, Ruler] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)

    def until(self, time_us: int) -> Probing:
        """The same, for stored rows up to an event time only."""
        return replace(self, latest=np.minimum(self.latest, time_us))


def prepare(
    plan: JoinPlan,
    joined: tuple[int, ...],
    probe: Probe,
    rows: Rows,
    counters: Counters,
    rulers: Mapping[int, Ruler] | None = None,
) -> Probing:
    """Compute keys, limits and window of the probing rows, which hold the columns of the `joined` streams."""
    keys = [part_keys(plan.parts[part], stream, rows) for part, stream in probe.keys]
    earliest, latest = _window(plan, joined, probe.stream, rows)
    index = plan.streams[probe.stream].indexes[probe.index]
    limits, room = None, math.inf
    if index.range is not None:
        limits, room = _limits(probe.bounds, rows)
        if getattr(index.range, "name", None) == plan.streams[probe.stream].time:
            limits = _within(limits, earliest, latest)
    checks = prepare_checks(plan.conjuncts[number] for number in probe.checks)
    key = combine(keys) if keys else None
    counting = {number: ruler for number, ruler in (rulers or {}).items() if number in (*joined, probe.stream)}
    return Probing(plan, probe, rows, checks, key, limits, earliest, latest, room, counting, counters)


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
