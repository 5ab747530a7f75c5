"""What a process holds, as the kernel tells it: parsed from texts, and measured of this process."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.tasks.worker import memory
from braid.engine.tasks.worker.memory import (
    Resident,
    parse_mappings,
    parse_rollup,
    remember_idle,
    resident_now,
    sibling_workers,
)
from braid.state.paging.pages import give_back

ROLLUP = """561190c2f000-7ffc305b1000 ---p 00000000 00:00 0                          [rollup]
Rss:              578792 kB
Pss:              551962 kB
Pss_Dirty:        543792 kB
Pss_Anon:         281648 kB
Pss_File:         270314 kB
Pss_Shmem:             2 kB
THPeligible:           0
"""
MAPPINGS = """55e48f3ca000-55e48f3cc000 r--p 00000000 fe:00 260131                     /lib/other.so
Size:                  8 kB
Pss:                   8 kB
Anonymous:             4 kB
VmFlags: rd mr mw me
7f0000000000-7f0000100000 r--s 00000000 fe:00 7                          /a checkpoint/blocks/r-0-s0.block
Pss:                 100 kB
Anonymous:             0 kB
7f0000200000-7f0000300000 r--s 00000000 fe:00 8                          /copies/1.block (deleted)
Pss:                  50 kB
Anonymous:             0 kB
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
Pss:                  20 kB
Anonymous:            20 kB
"""


def test_the_sums_of_a_process_are_its_anonymous_bytes_and_its_share_of_files() -> None:
    assert parse_rollup(ROLLUP) == Resident(281648 << 10, 270316 << 10)


def test_of_mapped_files_only_state_counts() -> None:
    assert parse_mappings(MAPPINGS, (".block",)) == Resident(24 << 10, 150 << 10)
    assert parse_mappings(MAPPINGS, ("/copies/",)) == Resident(24 << 10, 50 << 10)


def test_what_is_resident_above_idle_is_never_negative() -> None:
    assert Resident(10, 5).above(Resident(4, 9)) == Resident(6, 0)


def test_a_process_sees_what_it_maps_and_what_it_gives_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = 32 << 20
    path = tmp_path / "some.block"
    path.write_bytes(os.urandom(1 << 20) * (size >> 20))
    monkeypatch.setattr(memory, "_idle", None)
    remember_idle()
    buffer = pa.memory_map(str(path), "r").read_buffer()
    values = np.frombuffer(buffer, np.int64)
    total = int(values.sum())
    touched, own = resident_now(), os.getpid()
    assert touched is not None
    assert touched.worker == own
    assert touched.resident >= size * 9 // 10
    assert touched.peak >= touched.resident
    give_back(buffer, buffer)
    released = resident_now()
    assert released is not None
    assert released.resident < touched.resident - size // 2
    assert released.peak >= size * 9 // 10
    assert int(values.sum()) == total


def test_a_process_has_at_least_itself_beside_it() -> None:
    assert sibling_workers() >= 1
