"""`braid demo`, as a user runs it, twice in one directory: it continues, and finds what brute force finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.cli.demo import FLEETS, ROWS_PER_STEP

WINDOW_US = LATENESS_US = 5_000_000
COMMAND = "from braid.cli.main import main; main()"

Encounter = tuple[str, int, str, int]


def run_demo(directory: Path, *arguments: str) -> str:
    """The command's output; it must succeed and say nothing on stderr."""
    command = [sys.executable, "-c", COMMAND, "demo", "--dir", str(directory), "--rows", str(ROWS_PER_STEP)]
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    return done.stdout


def steps_in(text: str) -> list[int]:
    """The numbers of the steps that have a line below a header."""
    lines = [line.split() for line in text.partition("watermark\n")[2].splitlines()]
    return [int(words[0]) for words in lines if len(words) == 8 and words[0].isdigit()]


def on_time_rows(feed: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The rows of a feed that are not late when its files are read one by one, sorted by time."""
    kept: list[pa.Table] = []
    newest: int | None = None
    for path in sorted(feed.glob("*.parquet")):
        table = pq.read_table(path)
        times = table["ts"].cast(pa.int64()).to_numpy()
        kept.append(table if newest is None else table.filter(pa.array(times >= newest - LATENESS_US)))
        newest = int(times.max()) if newest is None else max(newest, int(times.max()))
    rows = pa.concat_tables(kept).sort_by("ts")
    names = np.array(rows["vehicle"].to_pylist())
    return names, rows["ts"].cast(pa.int64()).to_numpy(), rows["x"].to_numpy(), rows["y"].to_numpy()


def brute_force(directory: Path) -> set[Encounter]:
    """Every report of one feed against all of the other within the window."""
    (names, times, x, y), (other_names, other_times, other_x, other_y) = (
        on_time_rows(directory / "feeds" / fleet.name) for fleet in FLEETS
    )
    found: set[Encounter] = set()
    for first in range(0, len(times), 500):
        some = slice(first, first + 500)
        start, stop = np.searchsorted(other_times, [times[some][0] - WINDOW_US, times[some][-1] + WINDOW_US + 1])
        others = slice(int(start), int(stop))
        near = (x[some, None] - other_x[None, others]) ** 2 + (y[some, None] - other_y[None, others]) ** 2 <= 10_000
        near &= np.abs(times[some, None] - other_times[None, others]) <= WINDOW_US
        for i, j in np.argwhere(near):
            mine, theirs = first + int(i), int(start) + int(j)
            found.add((str(names[mine]), int(times[mine]), str(other_names[theirs]), int(other_times[theirs])))
    return found


def joined(directory: Path) -> list[Encounter]:
    table = pq.read_table(directory / "encounters")
    microseconds = [table[name].cast(pa.timestamp("us", "UTC")).cast(pa.int64()) for name in ("taxi_time", "van_time")]
    columns = [table["taxi"], microseconds[0], table["van"], microseconds[1]]
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


@pytest.mark.slow
def test_the_demo_continues_and_finds_every_encounter(java: None, tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    first = run_demo(directory)
    assert "Starting a new demo" in first
    assert "Stream-stream join without equality predicate" in " ".join(first.split())
    assert "Closest encounters" in first
    words = " ".join(first.split())
    assert "Checked by brute force: 1,000 taxi reports with each of" in words
    assert "The join found the same" in words
    assert "There are two rates. That of a step:" in words
    assert steps_in(first) == steps_in((directory / "steps.log").read_text()) == [0], first
    assert len(list((directory / "feeds" / "taxi").glob("*.parquet"))) == 1
    results = joined(directory)
    assert len(results) > 100
    assert set(results) == brute_force(directory)

    second = run_demo(directory, "--rows", str(2 * ROWS_PER_STEP))
    assert "Continuing the demo" in second
    assert steps_in((directory / "steps.log").read_text()) == [0, *steps_in(second)]
    assert len(steps_in(second)) >= 2
    assert len(list((directory / "feeds" / "taxi").glob("*.parquet"))) == 3
    results = joined(directory)
    assert len(set(results)) == len(results)
    assert set(results) == brute_force(directory)
