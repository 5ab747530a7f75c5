"""Generated traffic: vehicles drive along streets and report their positions every two seconds.

A vehicle's position is a function of its number and the time, and noise comes from a generator seeded by fleet and
file. So every run generates the same files. Reports arrive slightly out of order; a few are delayed by the duration of
a file, and most of those are late.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

START_US = int(datetime(2026, 1, 1, 8, tzinfo=UTC).timestamp()) * 1_000_000
FILE_SECONDS = 10
REPORT_SECONDS = 2
CITY_METRES = 40_000
BLOCK_METRES = 250
NOISE_METRES = 3.0
MEAN_DELAY_SECONDS = 0.4
DELAYED_SHARE = 0.0005
SCHEMA = pa.schema(
    [("vehicle", pa.string()), ("ts", pa.timestamp("us", tz="UTC")), ("x", pa.float64()), ("y", pa.float64())]
)

Numbers = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fleet:
    """Vehicles of one operator."""

    name: str
    seed: int
    vehicles: int

    @property
    def rows_per_file(self) -> int:
        """The approximate number of reports in a file."""
        return self.vehicles * FILE_SECONDS // REPORT_SECONDS


@dataclass(frozen=True)
class Reports:
    """Reports of a fleet, with the time each of them arrives; seconds since the start."""

    vehicle: npt.NDArray[np.int64]
    seconds: Numbers
    arrival: Numbers
    x: Numbers
    y: Numbers

    def where(self, mask: npt.NDArray[np.bool_]) -> Reports:
        return Reports(self.vehicle[mask], self.seconds[mask], self.arrival[mask], self.x[mask], self.y[mask])


def make_file(fleet: Fleet, number: int) -> pa.Table:
    """The reports that arrive while file `number` is being filled, in the order of their arrival."""
    end = (number + 1) * FILE_SECONDS
    sent = _sent(fleet, number)
    parts = [sent.where(sent.arrival < end)]
    if number > 0:
        before = _sent(fleet, number - 1)
        parts.append(before.where(before.arrival >= number * FILE_SECONDS))
    columns = [np.concatenate([getattr(part, name) for part in parts]) for name in ("vehicle", "seconds", "x", "y")]
    order = np.argsort(np.concatenate([part.arrival for part in parts]), kind="stable")
    vehicle, seconds, x, y = (column[order] for column in columns)
    names = pa.array([f"{fleet.name}-{n:04d}" for n in vehicle.tolist()])
    times = pa.array(START_US + np.round(seconds * 1e6).astype(np.int64)).cast(SCHEMA.field("ts").type)
    return pa.Table.from_arrays([names, times, pa.array(x), pa.array(y)], schema=SCHEMA)


def write_file(fleet: Fleet, number: int, directory: Path) -> int:
    """Add a file to a feed atomically; the number of its rows."""
    table = make_file(fleet, number)
    directory.mkdir(parents=True, exist_ok=True)
    hidden = directory / f".{number:06d}.part"
    pq.write_table(table, hidden)
    os.rename(hidden, directory / f"{number:06d}.parquet")
    return int(table.num_rows)


def files_in(directory: Path) -> int:
    """How many files a feed has."""
    return sum(1 for _ in directory.glob("[0-9]*.parquet"))


def _sent(fleet: Fleet, number: int) -> Reports:
    """The reports sent in the time of file `number`."""
    noise = np.random.default_rng([fleet.seed, 1, number])
    vehicle = np.repeat(np.arange(fleet.vehicles), FILE_SECONDS // REPORT_SECONDS)
    ticks = np.tile(np.arange(0, FILE_SECONDS, REPORT_SECONDS), fleet.vehicles)
    seconds = number * FILE_SECONDS + ticks + noise.uniform(0, REPORT_SECONDS, len(vehicle))
    delay = np.minimum(noise.exponential(MEAN_DELAY_SECONDS, len(vehicle)), 3.0)
    delay[noise.random(len(vehicle)) < DELAYED_SHARE] = FILE_SECONDS
    x, y = _places(fleet, vehicle, seconds)
    return Reports(
        vehicle,
        seconds,
        seconds + delay,
        x + noise.normal(0, NOISE_METRES, len(vehicle)),
        y + noise.normal(0, NOISE_METRES, len(vehicle)),
    )


def _places(fleet: Fleet, vehicle: npt.NDArray[np.int64], seconds: Numbers) -> tuple[Numbers, Numbers]:
    """The positions of vehicles: each drives around its own rectangle of streets at its own speed."""
    rounds = np.random.default_rng([fleet.seed, 0])
    blocks = CITY_METRES // BLOCK_METRES
    count = fleet.vehicles
    width, height = (rounds.integers(2, 12, count) * float(BLOCK_METRES) for _ in range(2))
    left, bottom = (rounds.integers(0, blocks - 12, count) * float(BLOCK_METRES) for _ in range(2))
    speed = rounds.uniform(6, 14, count) * rounds.choice([-1.0, 1.0], count)
    start = rounds.uniform(0, 2 * (width + height))
    along = (start[vehicle] + speed[vehicle] * seconds) % (2 * (width + height))[vehicle]
    wide, high = width[vehicle], height[vehicle]
    # Along the bottom, up the right side, back along the top, down the left side.
    x = np.clip(along, 0, wide) - np.clip(along - wide - high, 0, wide)
    y = np.clip(along - wide, 0, high) - np.clip(along - 2 * wide - high, 0, high)
    return left[vehicle] + x, bottom[vehicle] + y
