"""The file with the columns of the results: written once, also by two runs that start at the same moment."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from braid.errors import SinkError
from braid.spark.sinks.choice import publish_schema
from braid.state.files import LocalFiles

QUERY = "0123456789"
SCHEMA, OTHER = pa.schema([("a", pa.int64())]), pa.schema([("b", pa.int64())])


@pytest.fixture
def also_written(monkeypatch: pytest.MonkeyPatch) -> list[pa.Schema]:
    """What another run writes just before this one does."""
    schemas: list[pa.Schema] = []
    write = LocalFiles.write_new

    def write_after_another(files: LocalFiles, path: str, data: bytes) -> None:
        for schema in schemas:
            pq.write_table(schema.empty_table(), path)
        write(files, path, data)

    monkeypatch.setattr(LocalFiles, "write_new", write_after_another)
    return schemas


def columns(place: Path) -> list[str]:
    (file,) = place.iterdir()
    return list(pq.read_schema(file).names)


def test_another_run_of_the_query_may_write_it_first(tmp_path: Path, also_written: list[pa.Schema]) -> None:
    also_written.append(SCHEMA)
    publish_schema(str(tmp_path), QUERY, SCHEMA, is_first=True)
    assert columns(tmp_path) == ["a"]


def test_other_columns_that_were_written_first_are_refused(tmp_path: Path, also_written: list[pa.Schema]) -> None:
    also_written.append(OTHER)
    with pytest.raises(SinkError, match="have the columns b, but now they would have a"):
        publish_schema(str(tmp_path), QUERY, SCHEMA, is_first=True)


def test_what_a_failed_start_has_left_is_replaced(tmp_path: Path) -> None:
    publish_schema(str(tmp_path), QUERY, OTHER, is_first=True)
    publish_schema(str(tmp_path), QUERY, SCHEMA, is_first=True)
    assert columns(tmp_path) == ["a"]
    with pytest.raises(SinkError):
        publish_schema(str(tmp_path), QUERY, OTHER, is_first=False)
