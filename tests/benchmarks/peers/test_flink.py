"""What Flink is asked, and what its files say, without Flink."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.peers.flink import CHECKPOINTS, interval_join_query, settings_of, with_checkpoint_place
from benchmarks.peers.flink_paced import EMITTED, _answer, _out
from benchmarks.peers.streaming import Places
from benchmarks.tasks import Task


def test_interval_join_has_a_window_for_flink_and_an_exact_one() -> None:
    query = interval_join_query("r.k = s.k", 10, ("r.id AS r_id", "s.id AS s_id"))
    assert query == (
        "SELECT r.id AS r_id, s.id AS s_id FROM r JOIN s ON (r.k = s.k) "
        "AND r.ts BETWEEN s.ts - INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND s.ts + INTERVAL '0 00:00:10.000' DAY TO SECOND(3) "
        "AND r.ts_us BETWEEN s.ts_us - 10000000 AND s.ts_us + 10000000"
    )


@pytest.mark.parametrize(
    ("seconds", "span", "microseconds"),
    [
        (0.5, "0 00:00:00.500", 500_000),
        (0.0012, "0 00:00:00.002", 1_200),
        (93_784, "1 02:03:04.000", 93_784_000_000),
    ],
)
def test_window_of_flink_is_never_shorter_than_the_exact_one(seconds: float, span: str, microseconds: int) -> None:
    query = interval_join_query("abs(r.x - s.x) <= 0.5", seconds, ("r.id",))
    assert f"INTERVAL '{span}' DAY TO SECOND(3)" in query
    assert f"s.ts_us + {microseconds}" in query


def test_alternatives_in_a_predicate_stay_together() -> None:
    assert "ON (r.a = s.a OR r.b = s.b) AND" in interval_join_query("r.a = s.a OR r.b = s.b", 1, ("r.id",))


@pytest.mark.parametrize("settings", [{}, CHECKPOINTS], ids=["a savepoint alone", "checkpoints"])
def test_what_flink_keeps_of_its_state_goes_to_files(settings: dict[str, str], tmp_path: Path) -> None:
    placed = with_checkpoint_place(dict(settings), tmp_path)
    assert placed.pop("execution.checkpointing.storage") == "filesystem"
    assert placed.pop("execution.checkpointing.dir") == tmp_path.as_uri()
    assert placed == settings


def test_a_record_keeps_the_settings_of_a_job_but_no_directory(tmp_path: Path) -> None:
    settings = with_checkpoint_place({"parallelism.default": "2", **CHECKPOINTS}, tmp_path)
    assert settings_of({"settings": settings, "version": "2.3.0"}) == {
        "parallelism.default": "2",
        "execution.checkpointing.interval": "500 ms",
        "execution.checkpointing.storage": "filesystem",
        "version": "2.3.0",
    }


def flink_results(places: Places, emitted: list[tuple[int, int, str]], name: str) -> None:
    """A committed file of Flink's with pairs of ids and the time of each."""
    (places.output / "0").mkdir(parents=True, exist_ok=True)
    lines = [f"{r},{s},0.5,0.5,{at}" for r, s, at in emitted]
    (places.output / "0" / name).write_text("\n".join(lines) + "\n")


def test_results_of_flink_count_to_the_later_file_by_emission_or_by_commit(tmp_path: Path) -> None:
    task = Task("Flink", "equality", {"rows_per_second": 10, "batches": 3}, 3, mode="paced", rows_per_second=20.0)
    places = Places(tmp_path / "data", tmp_path)
    for _ in task.workload.write(places.data):
        pass
    columns = [("r_id", "BIGINT"), ("s_id", "BIGINT"), ("r_v", "DOUBLE"), ("s_v", "DOUBLE"), (EMITTED, "VARCHAR")]
    flink_results(places, [(1, 2, "1970-01-01 00:00:01.500"), (3, 14, "1970-01-01 00:00:02.250")], "part-0")
    flink_results(places, [(12, 9, "1970-01-01 00:00:03.000")], "part-1")
    assert _out(task, places, columns, committed=False) == {0: 1.5, 1: 3.0}
    commits = [(places.output / "0" / f"part-{number}").stat().st_ctime for number in (0, 1)]
    assert _out(task, places, columns, committed=True) == {0: commits[0], 1: max(commits)}
    assert _answer(task, places, columns).rows == 3
