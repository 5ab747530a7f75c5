"""Rows read by range: the same rows as of the whole segment, and damage is found exactly where it is read."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.errors import CorruptStateError
from braid.state.blocks import BlockReader, BlockWriter
from braid.state.files import LocalFiles
from braid.state.paging import checksums
from tests.budget import seeds

ROWS = 5_000


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksums, "CHUNK_BYTES", 1024)


def some_rows(seed: int) -> pa.RecordBatch:
    chance = random.Random(seed)
    numbers = np.arange(ROWS)
    columns = {
        "number": pa.array(numbers),
        "small": pa.array((numbers % 100).astype(np.int8)),
        "flag": pa.array([None if chance.random() < 0.1 else chance.random() < 0.5 for _ in range(ROWS)]),
        "text": pa.array([None if chance.random() < 0.1 else "x" * chance.randint(0, 9) for _ in range(ROWS)]),
        "wide": pa.array([chance.random() for _ in range(ROWS)]),
        "large": pa.array([str(n) for n in range(ROWS)], pa.large_string()),
        "nothing": pa.nulls(ROWS),
    }
    if chance.random() < 0.3:
        columns["nested"] = pa.array([[n, n] for n in range(ROWS)])
    return pa.RecordBatch.from_pydict(columns)


def written(path: Path, *batches: pa.RecordBatch) -> Path:
    with BlockWriter(LocalFiles(), str(path)) as block:
        for unit, batch in enumerate(batches):
            block.add(unit, 0, batch, 0, 0)
    return path


def opened(path: Path) -> BlockReader:
    reader = BlockReader(LocalFiles().map(str(path)), str(path))
    reader.bytes.gives_back = True
    return reader


@pytest.mark.parametrize("seed", seeds(0, 10))
def test_a_range_has_the_rows_of_the_whole(seed: int, tmp_path: Path) -> None:
    chance, whole = random.Random(seed), some_rows(seed)
    reader = opened(written(tmp_path / "a.block", some_rows(seed + 1).slice(0, 3), whole))
    segment = reader.segments[1]
    for _ in range(10):
        start = chance.randint(0, ROWS)
        stop = chance.randint(start, ROWS)
        assert reader.rows(segment, start, stop).equals(whole.slice(start, stop - start))
        reader.bytes.release(segment)
    assert reader.batch(segment).equals(whole)


def test_damage_is_found_by_a_read_of_its_rows_and_by_no_other(tmp_path: Path) -> None:
    numbers = pa.RecordBatch.from_pydict({"number": np.arange(ROWS)})
    path = written(tmp_path / "a.block", numbers)
    content = bytearray(path.read_bytes())
    place = content.index((4000).to_bytes(8, "little"))
    content[place] ^= 1
    path.write_bytes(content)
    reader = opened(path)
    segment = reader.segments[0]
    assert reader.rows(segment, 0, 1000).column("number").to_pylist() == list(range(1000))
    with pytest.raises(CorruptStateError, match="fails its checksum"):
        reader.rows(segment, 3990, 4010)
    with pytest.raises(CorruptStateError, match="fails its checksum"):
        reader.batch(segment)


@pytest.mark.parametrize("seed", seeds(100, 12))
def test_any_flipped_bit_of_a_segment_is_found(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    path = written(tmp_path / "a.block", some_rows(seed), some_rows(seed).slice(0, 2))
    segment = chance.choice(opened(path).segments)
    content = bytearray(path.read_bytes())
    content[segment.offset + chance.randrange(segment.length)] ^= 1 << chance.randrange(8)
    path.write_bytes(content)
    with pytest.raises(CorruptStateError, match="fails its checksum"):
        opened(path).batch(segment)


def test_a_copied_segment_keeps_its_checksums(tmp_path: Path) -> None:
    first = opened(written(tmp_path / "a.block", some_rows(1), some_rows(2)))
    with BlockWriter(LocalFiles(), str(tmp_path / "b.block")) as block:
        block.copy(first.segments[1], first)
        block.copy(first.segments[0], first)
    second = opened(tmp_path / "b.block")
    assert second.batch(second.segments[0]).equals(some_rows(2))
    assert second.rows(second.segments[1], 70, 90).equals(some_rows(1).slice(70, 20))
