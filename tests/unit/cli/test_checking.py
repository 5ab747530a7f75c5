"""The demo's check: it accepts the right answer, and counts what is missing from a wrong one or too much in it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.cli import checking
from braid.cli.checking import check_sample, near_pairs, read_on_time
from braid.cli.traffic import Fleet, make_file, write_file

TAXIS, VANS = Fleet("taxi", seed=1, vehicles=120), Fleet("van", seed=2, vehicles=3000)
TIME = pa.timestamp("us", "UTC")


@pytest.fixture(scope="module")
def feeds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    root = tmp_path_factory.mktemp("feeds")
    for fleet in (TAXIS, VANS):
        for number in range(3):
            write_file(fleet, number, root / fleet.name)
    return root / "taxi", root / "van"


def write_answer(pairs: pa.Table, output: Path) -> None:
    """Pairs as the join publishes them, with a file of its that readers skip."""
    columns = [pairs["taxi"], pairs["taxi_us"].cast(TIME), pairs["van"], pairs["van_us"].cast(TIME)]
    output.mkdir()
    pq.write_table(pa.table(columns, names=["taxi", "taxi_time", "van", "van_time"]), output / "part-0.parquet")
    (output / "_braid_staging").mkdir()
    (output / "_braid_staging" / "half.parquet").write_bytes(b"PAR1")


def test_the_right_answer_passes_and_a_wrong_one_is_counted(feeds: tuple[Path, Path], tmp_path: Path) -> None:
    pairs = near_pairs(read_on_time(feeds[0]), read_on_time(feeds[1]))
    assert pairs.num_rows > 20
    write_answer(pairs, tmp_path / "right")
    right = check_sample(*feeds, tmp_path / "right")
    assert right.is_right
    assert 0 < right.pairs <= pairs.num_rows
    assert right.reports == 1_000
    assert f"The join found the same {right.pairs:,} pairs" in right.describe()

    write_answer(pairs.slice(0, 0), tmp_path / "nothing")
    assert check_sample(*feeds, tmp_path / "nothing").missing == right.pairs
    write_answer(pa.concat_tables([pairs, pairs]), tmp_path / "twice")
    twice = check_sample(*feeds, tmp_path / "twice")
    assert (twice.missing, twice.extra) == (0, right.pairs)
    other = pairs.set_column(2, "van", pa.array(["van-9999"] * pairs.num_rows))
    write_answer(other, tmp_path / "other")
    wrong = check_sample(*feeds, tmp_path / "other")
    assert (wrong.missing, wrong.extra) == (right.pairs, right.pairs)
    assert "found all but" in wrong.describe()


def test_long_feeds_are_checked_in_part(
    feeds: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vans = read_on_time(feeds[1])
    write_answer(near_pairs(read_on_time(feeds[0]), vans), tmp_path / "right")
    monkeypatch.setattr(checking, "MOST_COMPARISONS", 10 * len(vans.times))
    monkeypatch.setattr(checking, "PAIRS_AT_ONCE", 3 * len(vans.times))
    found = check_sample(*feeds, tmp_path / "right")
    assert (found.reports, found.is_right) == (10, True)


def test_late_rows_of_a_feed_take_no_part(feeds: tuple[Path, Path]) -> None:
    tables = [make_file(VANS, number) for number in range(3)]
    newest = max(tables[1]["ts"].cast(pa.int64()).to_numpy().max(), tables[0]["ts"].cast(pa.int64()).to_numpy().max())
    late = int(np.sum(tables[2]["ts"].cast(pa.int64()).to_numpy() < newest - checking.LATENESS_US))
    everything = sum(table.num_rows for table in tables)
    kept = len(read_on_time(feeds[1]).times)
    assert late > 0
    assert everything - kept >= late
