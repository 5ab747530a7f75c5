"""Rows that come at random: exponential gaps, in several streams, with a rate that may change on the way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The times of each stream's rows, ascending. Rows before time 0 fill the window and are only stored."""

    streams: tuple[Floats, ...]

    def in_order(self) -> list[tuple[float, int]]:
        """All rows from time 0 on: time and stream."""
        rows = [(float(time), stream) for stream, times in enumerate(self.streams) for time in times[times >= 0]]
        return sorted(rows)

    def stored(self, stream: int, until: Sequence[float] | Floats, ages: Sequence[float] | Floats) -> Counts:
        """For each time, the rows of a stream whose age is between each two ages, which ascend."""
        edges = np.asarray(until)[:, None] - np.asarray(ages)[None, :]
        before = np.searchsorted(self.streams[stream], edges, side="left")
        found: Counts = before[:, :-1] - before[:, 1:]
        return found


def poisson(
    streams: int, rate: float, window: float, seconds: float, seed: int, doubles_at: float | None = None
) -> Arrivals:
    """Each stream on its own, from a full window before time 0; from `doubles_at` on at twice the rate."""
    chance = np.random.default_rng(seed)
    found = []
    for _ in range(streams):
        times = _times(rate, -window, seconds, chance)
        if doubles_at is not None:
            times = np.sort(np.concatenate([times, _times(rate, doubles_at, seconds, chance)]))
        found.append(times)
    return Arrivals(tuple(found))


def _times(rate: float, begin: float, end: float, chance: np.random.Generator) -> Floats:
    count = chance.poisson(rate * (end - begin))
    return np.sort(chance.uniform(begin, end, count))
