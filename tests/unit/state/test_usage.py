"""Usage: requests and segments count for the innermost meter that is running, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from braid.state.blocks import BlockReader, BlockWriter
from braid.state.files import Files, LocalFiles
from braid.state.usage import Meter, Usage

BATCH = pa.RecordBatch.from_pydict({"a": [1, 2]})


def test_usage_adds_field_by_field() -> None:
    one, two = Usage(0.5, 0.25, 1, 2, 3, 4), Usage(0.25, 0.5, 10, 20, 30, 40)
    assert one + two == Usage(0.75, 0.75, 11, 22, 33, 44)
    assert sum([one, two], Usage()) == one + two


def written(files: Files, path: str) -> None:
    with files.open_output(path) as output:
        output.write(b"x")


READING: dict[str, Callable[[Files, str], object]] = {
    "read": lambda files, path: files.read(path),
    "map": lambda files, path: files.map(path),
    "open": lambda files, path: files.open_input(path).close(),
    "exists": lambda files, path: files.exists(path),
    "list": lambda files, path: files.list(path.rpartition("/")[0]),
}
WRITING: dict[str, Callable[[Files, str], object]] = {
    "output": lambda files, path: written(files, f"{path}.new"),
    "rename": lambda files, path: files.rename(path, f"{path}.moved"),
    "delete": lambda files, path: files.delete(path),
    "delete tree": lambda files, path: files.delete_tree(path.rpartition("/")[0]),
}


@pytest.mark.parametrize("name", [*READING, *WRITING, "create"])
def test_each_request_is_counted(name: str, files: Files, tmp_path: Path) -> None:
    path = f"{tmp_path}/directory/file"
    files.make_directory(f"{tmp_path}/directory")
    written(files, path)
    meter = Meter()
    with meter.counting():
        if name == "create":
            files.write_new(f"{path}.new", b"x")
        else:
            (READING | WRITING)[name](files, path)
    if name in READING:
        assert (meter.store_reads, meter.store_writes) == (1, 0)
    else:
        assert meter.store_writes >= 1
        # Other storage is asked first whether there is something to delete, or in the way.
        assert meter.store_reads <= (0 if isinstance(files, LocalFiles) else 1)


def test_the_innermost_meter_counts_alone(tmp_path: Path) -> None:
    files, outer, inner = LocalFiles(), Meter(), Meter()
    files.exists(str(tmp_path))
    with outer.running():
        files.exists(str(tmp_path))
        with inner.running():
            files.list(str(tmp_path))
            written(files, f"{tmp_path}/a")
        files.exists(str(tmp_path))
    files.exists(str(tmp_path))
    assert (outer.store_reads, outer.store_writes) == (2, 0)
    assert (inner.store_reads, inner.store_writes) == (1, 1)
    assert outer.usage().seconds >= inner.usage().seconds > 0


def test_a_segment_counts_once_and_its_bytes_only_if_another_slot_wrote_it(tmp_path: Path) -> None:
    files = LocalFiles()
    for name in ("own", "other"):
        with BlockWriter(files, f"{tmp_path}/{name}") as writer:
            writer.add(0, 0, BATCH, 0, 0)
            writer.add(1, 0, BATCH, 0, 0)
    meter = Meter(lambda file: file == "own")
    readers = [BlockReader(files.map(f"{tmp_path}/{name}"), f"{tmp_path}/{name}") for name in ("own", "other")]
    readers[0].batch(readers[0].segments[0])
    with meter.running():
        for reader in readers:
            for segment in [*reader.segments, *reader.segments]:
                reader.batch(segment)
    usage = meter.usage()
    assert usage.segment_reads == 4
    assert usage.moved_bytes == sum(segment.length for segment in readers[1].segments)
