"""Rows of two streams that carry the time they arrive at, so each stream is in order and both together are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
SLOW, FAST = 0, 1
JUST_AFTER = 1e-6  # seconds


@dataclass(frozen=True)
class Arrivals:
    """The rows of both streams by time: `times` in seconds, `streams` the stream of each."""

    times: Floats
    streams: NDArray[np.int8]

    def of(self, stream: int) -> Floats:
        times: Floats = self.times[self.streams == stream]
        return times


def periodic(slow: float, fast: float, seconds: float) -> Arrivals:
    """Evenly spaced rows, as equations 3 and 5 count them: n of the faster stream begin just after each slow one."""
    turn = np.arange(0, seconds, 1 / slow)
    within = np.arange(round(fast / slow)) / fast + JUST_AFTER
    return _merged(turn, (turn[:, None] + within).ravel())


def exponential(slow: float, fast: float, seconds: float, seed: int) -> Arrivals:
    """Independent rows with exponential gaps."""
    random = np.random.default_rng(seed)
    return _merged(*(_poisson(random, rate, seconds) for rate in (slow, fast)))


def _poisson(random: np.random.Generator, rate: float, seconds: float) -> Floats:
    times = np.cumsum(random.exponential(1 / rate, int(rate * seconds * 1.5) + 50))
    return times[times < seconds]


def _merged(slow: Floats, fast: Floats) -> Arrivals:
    """Until the last row of the slower stream: what comes later would wait for ever."""
    fast = fast[fast <= slow[-1]]
    times = np.concatenate([slow, fast])
    order = np.argsort(times, kind="stable")
    streams = np.repeat(np.array([SLOW, FAST], np.int8), [len(slow), len(fast)])
    return Arrivals(times[order], streams[order])
