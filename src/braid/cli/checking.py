"""The demo's results against brute force: some taxi reports, each compared with every van report.

The engine is not used: late rows are found by their definition, pairs by their distance and times.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

NEAR_METRES = 100.0
WINDOW_US = LATENESS_US = 5_000_000
SAMPLED_REPORTS = 1_000
# A demo that was continued many times has long feeds: then fewer reports are checked, so that it takes seconds.
MOST_COMPARISONS = 400_000_000
PAIRS_AT_ONCE = 4_000_000
KEYS = ["taxi", "taxi_us", "van", "van_us"]


@dataclass(frozen=True)
class Checked:
    """What the check compared, and how the results differ."""

    reports: int
    others: int
    pairs: int
    missing: int
    extra: int

    @property
    def is_right(self) -> bool:
        return not self.missing and not self.extra

    def describe(self) -> str:
        compared = f"{self.reports:,} taxi reports with each of {self.others:,} van reports"
        if self.is_right:
            return f"Checked by brute force: {compared}. The join found the same {self.pairs:,} pairs."
        return (
            f"Checked by brute force: {compared}, which gives {self.pairs:,} pairs. "
            f"Of these the join found all but {self.missing:,}, and {self.extra:,} that are none."
        )


@dataclass(frozen=True)
class Feed:
    """The rows of a feed that are not late."""

    vehicle: pa.Array
    times: npt.NDArray[np.int64]
    x: npt.NDArray[np.float64]
    y: npt.NDArray[np.float64]

    def take(self, places: npt.NDArray[np.int64]) -> Feed:
        return Feed(self.vehicle.take(pa.array(places)), self.times[places], self.x[places], self.y[places])


def check_sample(taxis: Path, vans: Path, output: Path, seed: int = 0) -> Checked:
    """Compare the results for a random sample of taxi reports with brute force."""
    taxi, van = read_on_time(taxis), read_on_time(vans)
    count = min(SAMPLED_REPORTS, len(taxi.times), max(1, MOST_COMPARISONS // max(1, len(van.times))))
    places = np.random.default_rng(seed).choice(len(taxi.times), count, replace=False)
    sample = taxi.take(np.sort(places))
    expected, found = near_pairs(sample, van), _answers(output, sample)
    both = pa.concat_tables(
        [
            table.append_column("n", pa.array(np.full(table.num_rows, sign, np.int64)))
            for table, sign in ((expected, 1), (found, -1))
        ]
    )
    balance = both.group_by(KEYS, use_threads=False).aggregate([("n", "sum")])["n_sum"].to_numpy()
    return Checked(
        reports=count,
        others=len(van.times),
        pairs=expected.num_rows,
        missing=int(balance[balance > 0].sum()),
        extra=int(-balance[balance < 0].sum()),
    )


def read_on_time(directory: Path) -> Feed:
    """A feed without its late rows: each file is a batch, and rows older than earlier files allow are late."""
    kept, newest = [], None
    for path in sorted(directory.glob("[0-9]*.parquet")):
        table = pq.read_table(path)
        times = table["ts"].cast(pa.int64()).to_numpy()
        kept.append(table if newest is None else table.filter(pa.array(times >= newest - LATENESS_US)))
        newest = int(times.max()) if newest is None else max(newest, int(times.max()))
    rows = pa.concat_tables(kept).combine_chunks()
    return Feed(
        rows["vehicle"].combine_chunks(),
        rows["ts"].cast(pa.int64()).to_numpy(),
        rows["x"].to_numpy(),
        rows["y"].to_numpy(),
    )


def near_pairs(taxi: Feed, van: Feed) -> pa.Table:
    """All pairs within the distance and the window, by comparing every report with every other."""
    rows = max(1, PAIRS_AT_ONCE // max(1, len(van.times)))
    mine, others = [], []
    for first in range(0, len(taxi.times), rows):
        some = slice(first, first + rows)
        east, north = taxi.x[some, None] - van.x[None, :], taxi.y[some, None] - van.y[None, :]
        near = (np.abs(east) <= NEAR_METRES) & (east * east + north * north <= NEAR_METRES * NEAR_METRES)
        near &= np.abs(taxi.times[some, None] - van.times[None, :]) <= WINDOW_US
        left, right = np.nonzero(near)
        mine.append(left + first)
        others.append(right)
    left, right = np.concatenate(mine), np.concatenate(others)
    return pa.table(
        [
            taxi.vehicle.take(pa.array(left)),
            pa.array(taxi.times[left]),
            van.vehicle.take(pa.array(right)),
            pa.array(van.times[right]),
        ],
        names=KEYS,
    )


def _answers(output: Path, sample: Feed) -> pa.Table:
    """What the join has emitted for the reports of the sample."""
    times = pa.array(sample.times).cast(pa.timestamp("us", "UTC"))
    results = ds.dataset(output, format="parquet")
    wanted = ds.field("taxi_time").isin(times) & ds.field("taxi").isin(sample.vehicle)
    rows = results.to_table(columns=["taxi", "taxi_time", "van", "van_time"], filter=wanted)
    columns = [rows["taxi"], rows["taxi_time"].cast(pa.int64()), rows["van"], rows["van_time"].cast(pa.int64())]
    found = pa.table(columns, names=KEYS)
    known = pa.table({"taxi": sample.vehicle, "taxi_us": pa.array(sample.times)})
    # A vehicle and a time of the sample that are not in one report belong to another report.
    return found.join(known, ["taxi", "taxi_us"], join_type="left semi", use_threads=False)
