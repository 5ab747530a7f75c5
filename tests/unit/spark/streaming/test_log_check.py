"""Every way in which a file of Spark's own log can be damaged is found before Spark reads it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from braid.errors import CorruptStateError
from braid.spark.streaming.log_check import check_spark_log, checksum_failure
from braid.state.files import LocalFiles

BATCHES = 13


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log as Spark leaves it: two sources, of files (compacted at its tenth entry) and of Kafka's kind."""
    directory = tmp_path / "spark"
    for name in ("offsets", "commits", "sources/0", "sources/1"):
        (directory / name).mkdir(parents=True)
    (directory / "metadata").write_text(json.dumps({"id": "6b1c"}))
    for batch in range(BATCHES):
        planned = ["v1", json.dumps({"batchWatermarkMs": 0}), json.dumps({"logOffset": batch}), '{"t":{"0":7}}']
        (directory / "offsets" / str(batch)).write_text("\n".join(planned))
        (directory / "commits" / str(batch)).write_text('v1\n{"nextBatchWatermarkMs":0}')
        name = f"{batch}.compact" if batch == 9 else str(batch)
        (directory / "sources" / "0" / name).write_text(f'v1\n{{"path":"file:///in/{batch}","batchId":{batch}}}')
    (directory / "sources" / "1" / "0").write_bytes(b'\0v1\n{"t":{"0":0}}')
    return directory


def damaged(log: Path) -> str | None:
    try:
        check_spark_log(LocalFiles(), str(log))
    except CorruptStateError as error:
        return str(error)
    return None


DAMAGES: dict[str, Callable[[Path], object]] = {
    "missing": lambda file: file.unlink(),
    "empty": lambda file: file.write_bytes(b""),
    "cut": lambda file: file.write_bytes(file.read_bytes()[:-3]),
    "cut to its version": lambda file: file.write_bytes(b"v1\n"),
    "bytes": lambda file: file.write_bytes(b"\xff\x00\xfe"),
    "other text": lambda file: file.write_text("hello\n"),
}


def test_a_whole_log_is_accepted(log: Path, tmp_path: Path) -> None:
    assert damaged(log) is None
    assert damaged(tmp_path / "none") is None
    for old in ("offsets/3", "commits/3", "sources/0/3"):
        (log / old).unlink()
    (log / "offsets" / ".12.crc").write_bytes(b"crc")
    (log / "offsets" / ".13.6b1c.tmp").write_bytes(b"")
    assert damaged(log) is None, "what a restart does not read does not matter"


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("name", ["metadata", "offsets/12", "offsets/11", "commits/12", "sources/0/12", "sources/0/10"])
def test_damage_is_named(log: Path, name: str, how: str) -> None:
    DAMAGES[how](log / name)
    if (name, how) == ("commits/12", "missing"):
        assert damaged(log) is None, "Spark runs the last batch again, which is known"
        return
    message = str(damaged(log))
    assert str(log / name) in message
    assert "Restore the whole checkpoint from one copy" in message


def test_a_damaged_compacted_file_is_named(log: Path) -> None:
    (log / "sources/0/9.compact").write_text("v1\n{")
    assert "9.compact" in str(damaged(log))
    (log / "sources/0/9.compact").unlink()
    assert "sources/0/9" in str(damaged(log))


def test_a_checksum_of_hadoops_is_explained() -> None:
    raw = "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/c/spark/offsets/3 at 0 exp: 1 got: 2"
    found = checksum_failure(raw)
    assert found is not None
    assert "/c/spark/offsets/3" in found.message
    assert checksum_failure("java.io.IOException: broken") is None
