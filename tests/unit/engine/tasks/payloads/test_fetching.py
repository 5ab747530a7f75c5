"""Payloads by address: the right ones, in bounded pieces, also for rows that have some of them already."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.engine.commands import IngestCommand
from braid.engine.row_ids import RowIds
from braid.engine.tasks.payloads.fetching import Payloads
from braid.engine.tasks.payloads.writing import PayloadWriter
from braid.engine.tasks.task import Task
from braid.errors import CorruptStateError
from braid.kernels import sizes
from braid.kernels.rows import Pairs, Rows, concat_rows
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.plan.stored_types import joined_types
from braid.state.blocks import BlockReader
from braid.state.files import LocalFiles
from braid.state.paging.payload_files import PayloadFile
from braid.testing import Draft
from braid.testing.expressions import equal

COUNT = 20
COLUMNS = {"k": "bigint", "note": "string", "id": "bigint"}


@pytest.fixture
def plan() -> JoinPlan:
    draft = Draft()
    r, s = (
        draft.stream(name, {"k": "bigint", "note": "string", "id": "bigint"}, window_us=10, lateness_us=0)
        for name in "rs"
    )
    return build_plan(draft.on(equal(r["k"], s["k"])).logical_plan())


def whole_rows(plan: JoinPlan, first: int = 0, count: int = COUNT) -> Rows:
    numbers = range(first, first + count)
    columns = {
        "r.k": pa.array(list(numbers)),
        "r.note": pa.array([None if n % 7 == 3 else f"note {n}" * (n % 5) for n in numbers]),
        "r.id": pa.array([10 * n for n in numbers]),
    }
    return Rows(columns, joined_types(plan, (0,)), count)


def stored_apart(plan: JoinPlan, directory: Path, rows: Rows, task: int = 1, step: int = 4) -> tuple[Rows, PayloadFile]:
    """Rows with addresses, written by a task in two pieces, and their payload file."""
    command: Any = SimpleNamespace(step=step, row_ids=RowIds(100 * step, 3), run="0" * 8)
    assert {"step", "row_ids", "run"} <= set(IngestCommand.__dataclass_fields__)
    writer = PayloadWriter(plan, 0, command, Task(task, 1, "here"), LocalFiles(), str(directory))
    half = rows.length // 2
    addressed = concat_rows([writer.addressed(rows.slice(0, half)), writer.addressed(rows.slice(half, rows.length))])
    file = writer.close()
    assert file is not None
    return addressed, file


def fetching(plan: JoinPlan, directory: Path, *files: PayloadFile, whole: bool = False) -> Payloads:
    def opened(file: str) -> BlockReader:
        return BlockReader(LocalFiles().map(f"{directory}/{file}"), file)

    return Payloads(plan, files, opened, whole)


def listed(parts: list[Rows]) -> list[dict[str, Any]]:
    return [row for rows in parts for row in rows.to_batch(["r.k", "r.note", "r.id"]).to_pylist()]


@pytest.mark.parametrize("limit", [1 << 20, 60])
def test_rows_get_their_payloads_back(
    plan: JoinPlan, limit: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "PIECE_BYTES", limit)
    rows = whole_rows(plan)
    addressed, file = stored_apart(plan, tmp_path, rows)
    other, later = stored_apart(plan, tmp_path, whole_rows(plan, COUNT), task=0, step=6)
    assert set(addressed.columns) == {"r.k", "#payload:0"}
    positions = np.array([13, 2, 2, 39, 0, 25])
    found = list(fetching(plan, tmp_path, later, file).whole_rows(concat_rows([addressed, other]).take(positions)))
    assert listed(found) == listed([concat_rows([rows, whole_rows(plan, COUNT)]).take(positions)])
    assert len(found) == 1 if limit > 60 else len(found) > 1
    assert "#payload:0" not in found[0].columns


def test_rows_with_and_without_addresses_mix(plan: JoinPlan, tmp_path: Path) -> None:
    rows = whole_rows(plan)
    addressed, file = stored_apart(plan, tmp_path, rows)
    mixed = concat_rows([rows.slice(0, 3), addressed.slice(3, 9), rows.slice(9, COUNT)])
    assert listed(list(fetching(plan, tmp_path, file).whole_rows(mixed))) == listed([rows])


def test_pairs_get_their_payloads_back(plan: JoinPlan, tmp_path: Path) -> None:
    rows = whole_rows(plan)
    addressed, file = stored_apart(plan, tmp_path, rows)
    payloads, every = fetching(plan, tmp_path, file), np.arange(4)
    (found,) = payloads.complete(Pairs(addressed, Rows({}, {}, 0), every, every))
    assert found.array("r.note").equals(rows.columns["r.note"].slice(0, 4))
    plain = Pairs(rows, Rows({}, {}, 0), every, every)
    assert list(payloads.complete(plain)) == [plain]


def test_lookups_read_what_an_earlier_query_had_as_payload(plan: JoinPlan, tmp_path: Path) -> None:
    draft = Draft()
    r, s = (
        draft.stream(name, {"k": "bigint", "note": "string", "id": "bigint"}, window_us=10, lateness_us=0)
        for name in "rs"
    )
    corrected = build_plan(draft.on(equal(r["k"], s["k"])).on(equal(r["id"], s["id"])).logical_plan())
    rows = whole_rows(plan)
    addressed, file = stored_apart(plan, tmp_path, rows)
    read = fetching(corrected, tmp_path, file).for_lookups(addressed)
    assert read.columns["r.id"].equals(rows.columns["r.id"])
    assert not read.has("r.note")
    assert fetching(plan, tmp_path, file).for_lookups(addressed) is addressed
    assert fetching(corrected, tmp_path, file).for_lookups(addressed.slice(0, 0)).has("r.id")


def test_whole_rows_are_read_where_all_are_needed(plan: JoinPlan, tmp_path: Path) -> None:
    rows = whole_rows(plan)
    addressed, file = stored_apart(plan, tmp_path, rows)
    assert listed([fetching(plan, tmp_path, file, whole=True).for_lookups(addressed)]) == listed([rows])


def test_a_damaged_payload_file_is_found(plan: JoinPlan, tmp_path: Path) -> None:
    addressed, file = stored_apart(plan, tmp_path, whole_rows(plan))
    path = tmp_path / file.file
    data = bytearray(path.read_bytes())
    place = data.index(b"note 2")
    data[place] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(CorruptStateError, match="checksum"):
        list(fetching(plan, tmp_path, file).whole_rows(addressed))
