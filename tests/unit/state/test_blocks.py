"""Blocks on disk: what was written is read, and any damage is noticed before a row is used."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from braid.errors import CorruptStateError
from braid.state.blocks import ALIGNMENT, BlockReader, BlockWriter, Reach, WrittenBlock
from braid.state.files import LocalFiles


def batch(*values: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"s.k": pa.array(values, pa.int64()), "s.t": [f"row {v}" for v in values]})


@pytest.fixture
def block(tmp_path: Path) -> str:
    path = str(tmp_path / "blocks" / "one.block")
    with BlockWriter(LocalFiles(), path) as writer:
        writer.add(0, 0, batch(1, 2, 3), 10, 30)
        writer.add(1, 7, batch(4), 5, 5)
        writer.add(1, 8, batch(5, 6), 6, 9)
    assert writer.rows == 6
    assert writer.size == len(LocalFiles().read(path))
    return path


def read_all(data: bytes) -> list[list[object]]:
    reader = BlockReader(pa.py_buffer(data), "one.block")
    return [reader.batch(segment).column(0).to_pylist() for segment in reader.segments]


def test_segments_come_back_by_unit_and_route(block: str) -> None:
    reader = BlockReader(LocalFiles().map(block), block)
    assert [reader.batch(segment).column(0).to_pylist() for segment in reader.segments] == [[1, 2, 3], [4], [5, 6]]
    assert [segment.rows for segment in reader.segments_of(units=[1])] == [1, 2]
    assert [segment.rows for segment in reader.segments_of(routes=[7, 0])] == [3, 1]
    assert reader.segments_of(units=[1], routes=[0]) == []
    assert [(s.min_time, s.max_time) for s in reader.segments] == [(10, 30), (5, 5), (6, 9)]
    assert all(segment.offset % ALIGNMENT == 0 for segment in reader.segments)


def test_a_block_without_segments_is_a_block(tmp_path: Path) -> None:
    path = str(tmp_path / "empty.block")
    with BlockWriter(LocalFiles(), path):
        pass
    assert BlockReader(LocalFiles().map(path), path).segments == []


def test_every_truncation_is_noticed(block: str) -> None:
    data = LocalFiles().read(block)
    for length in range(len(data)):
        with pytest.raises(CorruptStateError, match=r"one\.block is corrupt"):
            read_all(data[:length])


def test_every_flipped_bit_is_noticed_or_harmless(block: str) -> None:
    """A bit in the padding or the leading magic changes no row; any other must be refused."""
    data = bytearray(LocalFiles().read(block))
    whole = read_all(bytes(data))
    reader = BlockReader(pa.py_buffer(bytes(data)), block)
    used = {n for segment in reader.segments for n in range(segment.offset, segment.offset + segment.length)}
    last = max(used)
    for place in range(len(data)):
        data[place] ^= 1 << (place % 8)
        if place in used or place > last:
            with pytest.raises(CorruptStateError):
                read_all(bytes(data))
        else:
            assert read_all(bytes(data)) == whole
        data[place] ^= 1 << (place % 8)


def test_a_write_that_fails_leaves_no_readable_block(tmp_path: Path) -> None:
    path = str(tmp_path / "broken.block")
    with pytest.raises(ZeroDivisionError), BlockWriter(LocalFiles(), path) as writer:
        writer.add(0, 0, batch(1 // 0), 0, 0)
    with pytest.raises(CorruptStateError, match="truncated"):
        BlockReader(LocalFiles().map(path), path)


def test_a_name_is_never_reused(block: str) -> None:
    with pytest.raises(FileExistsError), BlockWriter(LocalFiles(), block):
        pass


REACH = Reach(1, 0.5, 2.5, 100.0)


def test_copied_segments_keep_their_rows_and_checksums(tmp_path: Path) -> None:
    files, batch = LocalFiles(), pa.record_batch({"n": pa.array(range(1000))})
    with BlockWriter(files, f"{tmp_path}/one.block") as one:
        one.add(3, 1, batch, 5, 7)
        one.add(4, 1, batch.slice(10, 3), 2, 9, [REACH])
    reader = BlockReader(files.map(f"{tmp_path}/one.block"), "one")
    writer = BlockWriter(files, f"{tmp_path}/two.block")
    writer.add(9, 0, batch.slice(0, 7), 0, 1)
    writer.copy(reader.segments[1], reader)
    assert writer.close() == WrittenBlock("two.block", 10, writer.size, 0, 9)
    copied = BlockReader(files.map(f"{tmp_path}/two.block"), "two")
    assert copied.batch(copied.segments[1]).equals(batch.slice(10, 3))
    assert copied.segments[1].offset % 64 == 0
    assert copied.segments[1].checksum == reader.segments[1].checksum
    assert [copied.reaches_of(segment) for segment in copied.segments] == [[], [REACH]]


def test_a_damaged_segment_is_not_copied(tmp_path: Path) -> None:
    files, path = LocalFiles(), f"{tmp_path}/one.block"
    with BlockWriter(files, path) as one:
        one.add(3, 1, pa.record_batch({"n": pa.array(range(1000))}), 5, 7)
    data = bytearray(Path(path).read_bytes())
    data[500] ^= 1
    reader = BlockReader(pa.py_buffer(bytes(data)), "one")
    with pytest.raises(CorruptStateError, match="fails its checksum"):
        BlockWriter(files, f"{tmp_path}/two.block").copy(reader.segments[0], reader)
