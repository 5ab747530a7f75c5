"""Records: they come back as written, and any damage is noticed."""

from __future__ import annotations

from pathlib import Path

import pytest

from braid.errors import CorruptStateError
from braid.state.files import Files, LocalFiles
from braid.state.records import read_record, write_record


def test_records_come_back_and_damage_is_noticed(files: Files, tmp_path: Path) -> None:
    path = f"{tmp_path}/record.json"
    content = {"step": 3, "names": ["ä", None], "numbers": {"x": 0.1}}
    write_record(files, path, content)
    assert read_record(files, path, "manifest") == content
    with pytest.raises(FileExistsError):
        write_record(files, path, content)
    data = Path(path).read_bytes()
    for place in range(len(data)):
        Path(path).write_bytes(data[:place] + bytes([data[place] ^ 4]) + data[place + 1 :])
        with pytest.raises(CorruptStateError, match="manifest"):
            read_record(files, path, "manifest")
        Path(path).write_bytes(data[:place])
        with pytest.raises(CorruptStateError, match="manifest"):
            read_record(files, path, "manifest")


def test_a_missing_record_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorruptStateError, match=r"The manifest .*none\.json is missing"):
        read_record(LocalFiles(), f"{tmp_path}/none.json", "manifest")
