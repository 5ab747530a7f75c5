"""Whose results a path holds, decided by names and by the record of the first query that wrote there."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

import pytest

from braid.errors import CorruptStateError, SinkError
from braid.spark.sinks.paths import OWNER, OutputPath
from braid.state.files import LocalFiles

MINE, OTHER = "aaaaaaaa-1111", "bbbbbbbb-2222"


def path(directory: Path, checkpoint: str = "/data/one", shared: bool = False) -> OutputPath:
    return OutputPath(LocalFiles(), str(directory), str(directory), checkpoint, shared)


def hold(directory: Path, *names: str) -> None:
    for name in names:
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(b"")


OWN = ["part-aaaaaaaa.parquet", "part-000000000003-00001-aaaaaaaa-000001.parquet"]
HIDDEN = ["_SUCCESS", ".part.crc", "_braid_staging/x/part-1.parquet", "_metadata"]


@pytest.mark.parametrize("names", [[], OWN, HIDDEN, [*OWN, *HIDDEN]])
def test_an_empty_path_and_its_own_files_are_accepted(tmp_path: Path, names: list[str]) -> None:
    hold(tmp_path, *names)
    path(tmp_path).claim(MINE)
    path(tmp_path, "/elsewhere/copied").claim(MINE)  # the same query, from a copy of its checkpoint


@pytest.mark.parametrize(
    ("names", "named"),
    [
        (["part-bbbbbbbb.parquet"], "results of the query bbbbbbbb"),
        ([*OWN, "part-000000000003-00001-bbbbbbbb-000002.parquet"], "results of the query bbbbbbbb"),
        (["part-bbbbbbbb.parquet", "part-cccccccc.parquet"], "results of the query bbbbbbbb, cccccccc"),
        (["part-00000-6f0e-c000.snappy.parquet"], "files that are not Braid's: part-00000-6f0e-c000.snappy.parquet"),
        (["notes.txt"], "files that are not Braid's: notes.txt"),
        (["day=1/x.parquet"], "files that are not Braid's: day=1"),
        ([f"{n}.csv" for n in range(9)], "0.csv, 1.csv, 2.csv and 6 more"),
    ],
)
def test_what_a_reader_would_see_beside_its_rows_is_refused_by_name(
    tmp_path: Path, names: list[str], named: str
) -> None:
    hold(tmp_path, *names)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SinkError) as caught:
        path(tmp_path).claim(MINE)
    assert named in caught.value.message
    assert str(tmp_path) in caught.value.message
    assert "this is the query aaaaaaaa (checkpoint /data/one)" in caught.value.message
    assert "sharedPath" in caught.value.hint
    assert sorted(tmp_path.rglob("*")) == before
    path(tmp_path, shared=True).claim(MINE)


def test_the_first_query_of_a_path_is_named_with_its_checkpoint(tmp_path: Path) -> None:
    """Also before it has a file there."""
    path(tmp_path).claim(MINE)
    with pytest.raises(SinkError, match=r"results of the query aaaaaaaa \(checkpoint /data/one\)"):
        path(tmp_path, "/data/two").claim(OTHER)
    path(tmp_path, "/data/two", shared=True).claim(OTHER)
    path(tmp_path).claim(MINE)


def test_a_checkpoint_inside_the_path_is_no_result(tmp_path: Path) -> None:
    hold(tmp_path, "state/checkpoint/query-000000.json")
    path(tmp_path, f"{tmp_path}/state/checkpoint").claim(MINE)
    with pytest.raises(SinkError, match="not Braid's: state"):
        path(tmp_path, f"{tmp_path}-too/state/checkpoint").claim(MINE)


@pytest.mark.parametrize("attempt", range(20))
def test_of_queries_that_start_at_once_on_an_empty_path_one_writes(tmp_path: Path, attempt: int) -> None:
    gate, accepted = threading.Barrier(4), []

    def start(query: str) -> None:
        gate.wait()
        with suppress(SinkError):
            path(tmp_path / "out").claim(query)
            accepted.append(query)

    threads = [threading.Thread(target=start, args=(f"{letter * 8}-{attempt}",)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accepted) == 1


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    path(tmp_path).claim(MINE)
    (tmp_path / OWNER).write_bytes(b"x")
    with pytest.raises(CorruptStateError, match=OWNER):
        path(tmp_path).claim(MINE)
