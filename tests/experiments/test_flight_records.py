"""Records of flights as streams: shifted to one start, compressed to a rate, in the order of time."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from experiments.semijoin.flight_records import read_months

HEADER = "year,month,day,dep_time,carrier,tailnum,hour,minute"
ROWS = [
    "2013,2,1,517,UA,N1,5,15",
    "2013,2,2,1200,AA,N2,12,0",
    "2013,2,1,2359,AA,N1,23,59",
    "2013,2,2,,AA,NA,12,0",
    "2013,3,1,600,DL,N3,6,0",
    "2013,3,1,600,DL,,6,0",
]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    path = tmp_path / "flights.csv"
    path.write_text("\n".join([HEADER, *ROWS]) + "\n")
    return path


def test_a_month_is_compressed_to_its_rate_and_keeps_its_order(records: Path) -> None:
    found = read_months(records, {"s1": 2, "s2": 3}, {"s1": 3, "s2": 1})
    february = found["s1"]
    # Three flights at three a second: the two days of this month last a second.
    half_day_us = 250_000
    assert february.times.tolist() == [
        int(half_day_us * (5 + 15 / 60) / 12),
        int(half_day_us * (23 + 59 / 60) / 12),
        3 * half_day_us,
    ]
    assert february.aircraft.to_pylist() == ["N1", "N1", "N2"]
    assert february.lines[0].as_py() == "2013,2,1,517,UA,5,15"
    assert february.distinct == 2
    assert len(found["s2"]) == 1


def test_the_flights_of_an_interval_are_a_batch(records: Path) -> None:
    february = read_months(records, {"s1": 2}, {"s1": 3})["s1"]
    batches = [february.between(start, start + 250_000) for start in range(0, 1_000_000, 250_000)]
    assert [len(batch) for batch in batches] == [1, 1, 0, 1]
    assert batches[3]["k"].to_pylist() == ["N2"]
    assert february.row_bytes == pytest.approx(16 + np.mean([len(line) + 2 for line in february.lines.to_pylist()]))
