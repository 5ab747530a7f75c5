"""The generated feeds of the demo."""

from __future__ import annotations

from pathlib import Path

from braid.cli.traffic import Fleet, files_in, make_file, write_file

FLEET = Fleet("taxi", seed=1, vehicles=40)


def test_a_file_of_reports_is_always_the_same() -> None:
    assert make_file(FLEET, 3).equals(make_file(FLEET, 3))
    assert not make_file(FLEET, 3).equals(make_file(FLEET, 4))


def test_every_report_is_in_one_file() -> None:
    reports = [row for number in range(20) for row in make_file(FLEET, number).to_pylist()]
    distinct = {(row["vehicle"], row["ts"]) for row in reports}
    assert len(distinct) == len(reports)
    assert len(reports) >= 19 * FLEET.rows_per_file


def test_a_feed_grows_by_whole_files(tmp_path: Path) -> None:
    assert files_in(tmp_path / "feed") == 0
    rows = write_file(FLEET, 0, tmp_path / "feed")
    assert rows == make_file(FLEET, 0).num_rows
    assert files_in(tmp_path / "feed") == 1
