"""Generated aircraft positions in the shape of ADS-B: what two receivers see of the same flights over western Europe.

A flight goes from airport to airport, or crosses the region at its level. Proportions follow public samples over Paris
and Switzerland: a position a second and aircraft, of which a receiver misses some; altitudes in multiples of 25 feet;
en route nearly three quarters fly exactly at a level, most between 34,000 and 39,000 feet; below that altitudes are
spread evenly. A receiver's rows of a second depend only on the seed, the receiver and that second.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, TIME

SEED = 20_261_116
RECEIVED = 0.9
# Latitude, longitude and weight of airports.
AIRPORTS = (
    (49.01, 2.55, 5),
    (51.47, -0.45, 5),
    (52.31, 4.76, 4),
    (50.04, 8.56, 4),
    (48.35, 11.79, 3),
    (47.46, 8.55, 3),
    (45.63, 8.72, 2),
    (41.30, 2.08, 3),
    (43.44, 5.22, 1),
    (50.90, 4.48, 2),
    (53.35, -2.27, 2),
    (43.63, 1.37, 1),
)
# The share of flights at each level, in thousands of feet.
LEVELS = {33: 0.05, 34: 0.10, 35: 0.15, 36: 0.18, 37: 0.22, 38: 0.20, 39: 0.08, 40: 0.02}
OVERFLIGHTS = 0.45
REGION = ((41.0, 54.0), (-6.0, 13.0))
CLIMB_FEET_PER_SECOND = 32.0
DEGREES_PER_SECOND = 0.0021

Floats = npt.NDArray[np.float64]
SCHEMA = pa.schema(
    [("ts", TIME), ("icao24", pa.string()), ("lat", pa.float64()), ("lon", pa.float64()), ("alt", pa.int32())]
)


class Flights:
    """One flight after the other of each of `aircraft` aircraft, for `seconds` of event time."""

    def __init__(self, aircraft: int, seconds: int, seed: int = SEED) -> None:
        chance = np.random.default_rng(seed)
        self._seed = seed
        self._icao24 = np.array([f"{number:06x}" for number in chance.integers(0x380000, 0x4CFFFF, aircraft)])
        columns = [self._fly(chance, seconds) for _ in range(aircraft)]
        self._lat, self._lon, self._alt = (np.stack([c[n] for c in columns], axis=1) for n in range(3))

    def rows(self, receiver: int, first: int, seconds: int) -> pa.Table:
        """What a receiver gets in some seconds of event time, in order of `ts`."""
        tables = [self._second(receiver, second) for second in range(first, first + seconds)]
        return pa.concat_tables(tables).combine_chunks()

    def _second(self, receiver: int, second: int) -> pa.Table:
        chance = np.random.default_rng([self._seed, receiver, second])
        seen = np.flatnonzero(chance.random(len(self._icao24)) < RECEIVED)
        offsets = np.sort(chance.integers(0, SECOND_US, len(seen)))
        seen = chance.permutation(seen)
        times = (FIRST_SECOND + second) * SECOND_US + offsets
        columns = [times, self._icao24[seen], *(of[second][seen] for of in (self._lat, self._lon))]
        altitudes = (self._alt[second][seen] / 25).round().astype(np.int32) * 25
        return pa.Table.from_arrays([pa.array(column) for column in (*columns, altitudes)], SCHEMA.names).cast(SCHEMA)

    def _fly(self, chance: np.random.Generator, seconds: int) -> tuple[Floats, Floats, Floats]:
        """The track of one aircraft, which is somewhere on its first flight when time begins."""
        legs: list[tuple[Floats, Floats, Floats]] = []
        known = 0
        while known < seconds:
            leg = _flight(chance)
            begun = int(chance.integers(0, len(leg[0]))) if not legs else 0
            legs.append((leg[0][begun:], leg[1][begun:], leg[2][begun:]))
            known += len(leg[0]) - begun
        latitudes, longitudes, altitudes = (np.concatenate([leg[n] for leg in legs])[:seconds] for n in range(3))
        return latitudes, longitudes, altitudes


def _flight(chance: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """Latitude, longitude and altitude of each second of one flight."""
    crosses = chance.random() < OVERFLIGHTS
    (lat, lon), (to_lat, to_lon) = _border(chance) if crosses else _airports(chance)
    distance = float(np.hypot(to_lat - lat, (to_lon - lon) * 0.65))
    duration = max(600, int(distance / (DEGREES_PER_SECOND * chance.uniform(0.8, 1.05))))
    progress = np.linspace(0.0, 1.0, duration)
    second = np.arange(duration, dtype=np.float64)
    level = 1000.0 * chance.choice(list(LEVELS), p=np.array(list(LEVELS.values())))
    altitude = np.full(duration, level)
    if not crosses:
        rate = CLIMB_FEET_PER_SECOND * chance.uniform(0.7, 1.2)
        altitude = np.minimum(altitude, np.minimum(second * rate, (duration - 1 - second) * rate * 0.8))
    # A level flight is reported up to 25 feet off its level now and then.
    altitude = altitude + 25.0 * chance.choice((-1, 0, 1), duration, p=(0.13, 0.74, 0.13))
    return lat + (to_lat - lat) * progress, lon + (to_lon - lon) * progress, altitude


def _airports(chance: np.random.Generator) -> tuple[tuple[float, float], tuple[float, float]]:
    weights = np.array([weight for _, _, weight in AIRPORTS], np.float64)
    start, end = chance.choice(len(AIRPORTS), 2, replace=False, p=weights / weights.sum())
    return AIRPORTS[start][:2], AIRPORTS[end][:2]


def _border(chance: np.random.Generator) -> tuple[tuple[float, float], tuple[float, float]]:
    """A point of the region's border, and one of the opposite border."""
    (south, north), (west, east) = REGION
    if chance.random() < 0.5:
        ends = ((south, chance.uniform(west, east)), (north, chance.uniform(west, east)))
    else:
        ends = ((chance.uniform(south, north), west), (chance.uniform(south, north), east))
    return ends if chance.random() < 0.5 else (ends[1], ends[0])
