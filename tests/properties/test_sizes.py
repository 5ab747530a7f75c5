"""Rows of any size: nothing that a task gathers, joins or writes at once is larger than its bound, and no row is lost.

The bound is lowered to a few hundred bytes, so that values of a few bytes are large.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control import merging
from braid.control.ordering import Ordering
from braid.engine.commands import IngestCommand
from braid.engine.locations import Locations
from braid.engine.row_ids import RowIds
from braid.engine.tasks import ingest, lookups, results
from braid.engine.tasks.aggregate import changes, partials, parts, update
from braid.engine.tasks.lookup import arrivals
from braid.engine.tasks.task import Task
from braid.kernels import sizes
from braid.kernels.rows import Pairs, Rows
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import AlignedRouting, Biclique, CoordinatedRouting, Matrix, Strategy
from braid.plan.layout import Layout
from braid.plan.logical import LogicalPlan
from braid.state.blocks import BlockReader, BlockWriter
from braid.state.files import LocalFiles
from braid.testing import Draft, InlineQuery
from braid.testing.drafts import ARROW_TYPES
from braid.testing.expressions import equal, less, less_or_equal

LIMIT = 600
# Where every update reads all partial totals once a piece, a few hundred pieces would take seconds.
LARGER = {
    "groups": 3000,
    "groups in order": 10_000,
    **dict.fromkeys(("values of one group", "values of one group in order"), 3000),
}
SECOND = 1_000_000
# Offsets and validity of a piece beyond what its rows are counted with.
SLACK = 64

Joined = tuple[LogicalPlan, tuple[str, ...]]


def columns(value: str = "string") -> dict[str, str]:
    return {"id": "bigint", "k": "string", "v": value}


def pair(window_us: int | None = 100 * SECOND) -> tuple[Draft, Any, Any]:
    draft = Draft()
    return draft, *(draft.stream(name, columns(), window_us=window_us) for name in ("a", "b"))


def equality() -> Draft:
    draft, a, b = pair()
    return draft.on(equal(a["k"], b["k"]))


def band() -> Draft:
    draft, a, b = pair()
    return draft.on(less_or_equal(a["id"], b["id"]))


def text() -> Draft:
    draft, a, b = pair()
    return draft.on(less(a["v"], b["v"]))


def function() -> Draft:
    draft, a, b = pair()

    def shorter(left: pa.Array, right: pa.Array) -> Any:
        return np.asarray([len(x) <= len(y) for x, y in zip(left.to_pylist(), right.to_pylist(), strict=True)])

    return draft.on_function(shorter, a["v"], b["v"])


def chain() -> Draft:
    draft = Draft()
    a, b, c = (draft.stream(name, columns(), window_us=100 * SECOND) for name in ("a", "b", "c"))
    return draft.on(equal(a["k"], b["k"])).on(equal(b["id"], c["id"]))


def ordered() -> Draft:
    return equality().ordered()


def grouped() -> Draft:
    draft, a, b = pair()
    draft.on(equal(a["k"], b["k"]))
    return draft.aggregate([a["v"]], ("count", ()), ("max", (b["v"],)), ("count_distinct", (b["v"],)))


def distinct() -> Draft:
    draft, a, b = pair()
    return draft.on(equal(a["k"], b["k"])).distinct(a["v"], b["k"])


def sliding() -> Draft:
    draft, a, b = pair()
    draft.on(equal(a["k"], b["k"]))
    return draft.aggregate([a["v"]], ("count", ()), ("min", (b["v"],)), over_us=5 * SECOND)


def ordered_groups() -> Draft:
    return grouped().ordered()


def one_group() -> Draft:
    """Everything in one group of a long key: many values of it, many times, and one extreme for most of them."""
    draft, a, b = pair()
    draft.on(less_or_equal(a["id"], b["id"]))
    return draft.aggregate([], ("count_distinct", (b["v"],)), ("max", (a["v"],)), ("count_distinct", (a["k"],)))


def one_group_in_order() -> Draft:
    return one_group().ordered()


def counted() -> Draft:
    draft = Draft()
    a, b = (draft.stream(name, columns(), window_us=None, window_rows=20) for name in ("a", "b"))
    return draft.on(equal(a["k"], b["k"])).ordered()


CASES: dict[str, tuple[Callable[[], Draft], Strategy | None]] = {
    "equality": (equality, None),
    "copies in a matrix": (equality, Matrix(2, 2)),
    "copies in segments": (equality, AlignedRouting("1 second", 3)),
    "copies of all segments": (equality, CoordinatedRouting(2)),
    "tiles": (band, None),
    "text compared": (text, None),
    "a function": (function, None),
    "rounds": (chain, Biclique(units=(2, 2, 2))),
    "a tree": (chain, Biclique(units=(2, 2, 2), shape="tree")),
    "in order": (ordered, None),
    "rows counted": (counted, None),
    "groups": (grouped, None),
    "a distinct selection": (distinct, None),
    "a sliding aggregation": (sliding, None),
    "groups in order": (ordered_groups, None),
    "values of one group": (one_group, None),
    "values of one group in order": (one_group_in_order, None),
}


def rows(chance: random.Random, count: int, second: int) -> pa.Table:
    times = [(second + chance.randint(0, 2)) * SECOND for _ in range(count)]
    values = ["x" * chance.choice([0, 1, 20, 150]) + str(chance.randint(0, 9)) for _ in range(count)]
    return pa.table(
        {
            "ts": pa.array(times, pa.int64()).cast(ARROW_TYPES["timestamp"]),
            "id": pa.array([chance.randint(0, 9) for _ in range(count)], pa.int64()),
            "k": pa.array([f"{'key' * chance.choice([1, 30])}{chance.randint(0, 2)}" for _ in range(count)]),
            "v": pa.array(values),
        }
    )


def answer(logical_plan: LogicalPlan, strategy: Strategy | None, place: Path, seed: int) -> Counter[tuple[Any, ...]]:
    chance = random.Random(seed)
    ordering = Ordering("filter-order", 0.3) if logical_plan.ordered else None
    query = InlineQuery(logical_plan, str(place), strategy=strategy, ordering=ordering, rows_per_batch=1000)
    names = [stream.name for stream in logical_plan.streams]
    for batch in range(3):
        query.run(batch, {name: rows(chance, 44 // len(names) - 8, 3 * batch) for name in names})
    if ordering is not None:
        query.steps.flush()
    return Counter(tuple(row.values()) for row in query.published().to_pylist())


def _largest_chunk(table: pa.Table) -> tuple[int, int]:
    return max(((batch.num_rows, batch.nbytes) for batch in table.to_batches()), key=lambda x: x[1], default=(0, 0))


class Watch:
    """Remembers the bytes of everything that is gathered, cut or written, with how many rows it had."""

    def __init__(self, patch: pytest.MonkeyPatch, limit: int) -> None:
        patch.setattr(sizes, "PIECE_BYTES", limit)
        self._limit = limit
        self.seen: list[tuple[str, int, int]] = []
        self._wrap(patch, Rows, "take", lambda result: (result.length, result.nbytes))
        self._wrap(patch, Pairs, "to_rows", lambda result: (result.length, result.nbytes))
        self._wrap(patch, Pairs, "array", lambda result: (len(result), result.nbytes))
        for module in (lookups, arrivals):
            self._wrap(patch, module, "concat_rows", lambda result: (result.length, result.nbytes))
        self._wrap(patch, ingest, "_join", lambda result: (result.num_rows, result.nbytes))
        for module in (parts, partials, update, changes):
            self._wrap(patch, module, "add_up", _largest_chunk)
        self._wrap(patch, parts, "unseen", _largest_chunk)
        add, flush, watch = BlockWriter.add, results.ResultWriter._flush, self

        def watched(self: BlockWriter, unit: int, route: int, batch: pa.RecordBatch, *times: int) -> None:
            watch.seen.append(("a segment", batch.num_rows, batch.nbytes))
            add(self, unit, route, batch, *times)

        def flushed(self: results.ResultWriter) -> None:
            parts = self._buffered.parts
            watch.seen.append(("a row group", self._buffered.rows, sum(part.nbytes for part in parts)))
            flush(self)

        patch.setattr(BlockWriter, "add", watched)
        patch.setattr(results.ResultWriter, "_flush", flushed)

    def too_large(self) -> list[tuple[str, int, int]]:
        return [
            (what, count, size)
            for what, count, size in self.seen
            # Shares by hash are of a piece on average.
            if size > (2 if what in ("add_up", "unseen") else 1) * self._limit + SLACK + 8 * count and count > 1
        ]

    def _wrap(self, patch: pytest.MonkeyPatch, owner: Any, name: str, measure: Callable[[Any], Any]) -> None:
        original = getattr(owner, name)

        def watched(*arguments: Any, **named: Any) -> Any:
            result = original(*arguments, **named)
            self.seen.append((name, *measure(result)))
            return result

        patch.setattr(owner, name, watched)


@pytest.mark.parametrize("case", CASES)
def test_pieces_are_bounded_by_bytes(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft, strategy = CASES[case]
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "BASE_ROWS", 4)
    expected = answer(draft().logical_plan(), strategy, tmp_path / "whole", 7)
    limit = LARGER.get(case, LIMIT)
    with monkeypatch.context() as patch:
        watch = Watch(patch, limit)
        found = answer(draft().logical_plan(), strategy, tmp_path / "pieces", 7)
    assert sum(expected.values()) > (2 if "one group" in case else 30), "the case shows nothing"
    assert found == expected
    assert watch.too_large() == []
    assert max(size for _, _, size in watch.seen) > limit // 3, "nothing came near the bound"


DEEP = pa.list_(pa.struct([("name", pa.string()), ("tags", pa.map_(pa.string(), pa.list_(pa.binary())))]))
NESTED: dict[str, pa.DataType] = {
    "a list": pa.list_(pa.string()),
    "a large list": pa.large_list(pa.large_string()),
    "a map": pa.map_(pa.string(), pa.int64()),
    "a map of texts": pa.map_(pa.string(), pa.string()),
    "a struct": pa.struct([("x", pa.string()), ("y", pa.int32())]),
    "a struct of structs": pa.struct([("s", pa.struct([("t", pa.binary())])), ("n", pa.null())]),
    "a list of lists": pa.list_(pa.list_(pa.int16())),
    "a deep one": DEEP,
}


def nested_value(chance: random.Random, kind: pa.DataType) -> Any:
    """A value of a type, of random size; NULL at any level."""
    if chance.random() < 0.15 or pa.types.is_null(kind):
        return None
    if pa.types.is_struct(kind):
        return {field.name: nested_value(chance, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(f"{n}{'k' * chance.choice((1, 40))}", nested_value(chance, kind.item_type)) for n in range(3)]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [nested_value(chance, kind.value_type) for _ in range(chance.choice((0, 1, 5)))]
    if pa.types.is_integer(kind):
        return chance.randint(0, 99)
    text = "x" * chance.choice((0, 3, 70))
    return text.encode() if pa.types.is_binary(kind) else text


@pytest.mark.parametrize("case", NESTED)
def test_nested_columns_are_cut_by_their_bytes(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Slices of slices too: the sizes of rows add up to those that Arrow counts, and no piece is larger than it may."""
    chance = random.Random(case)
    column = pa.array([nested_value(chance, NESTED[case]) for _ in range(200)], NESTED[case])
    monkeypatch.setattr(sizes, "PIECE_BYTES", 900)
    for start in (0, 37):
        batch = pa.RecordBatch.from_arrays([column.slice(start, 150), pa.array(range(150))], names=["v", "n"])
        found = list(sizes.batch_pieces(batch))
        assert len(found) > 3
        assert pa.Table.from_batches(found).equals(pa.Table.from_batches([batch]))
        assert all(piece.num_rows == 1 or piece.nbytes <= 900 + 16 * piece.num_rows for piece in found)
        every = sizes.row_sizes(batch.columns, 150)
        counted = [batch.slice(place, 1).nbytes for place in range(150)]
        assert all(own >= size - 16 for own, size in zip(every.tolist(), counted, strict=True))


def test_more_bytes_in_one_task_than_an_array_may_have(tmp_path: Path) -> None:
    """22,000 rows of 100 KB: 2.2 GB, of which a task holds a few pieces."""
    draft, a, b = pair(window_us=None)
    plan = build_plan(draft.on(less_or_equal(a["id"], b["id"])).logical_plan())
    count, repeated = 500, 44
    numbers = pa.array(range(count), pa.int64())
    columns = {"a.ts": numbers.cast(ARROW_TYPES["timestamp"]), "a.id": numbers}
    columns |= {"a.k": pa.array(["k"] * count), "a.v": pa.array(["v" * 100_000] * count)}
    batch = pa.RecordBatch.from_pydict(columns)
    layout = Layout(0, "biclique", (1, 1), (1, 1))
    command = IngestCommand(0, "run", (None, None), layout, (None, None), RowIds(0, 1))
    locations = Locations(str(tmp_path), str(tmp_path), "none")
    report = ingest.run_ingest(plan, 0, locations, command, Task(0, 0, "here"), iter([batch] * repeated))
    assert report.block is not None
    assert (report.rows, report.block.rows) == (count * repeated,) * 2
    assert report.block.size > 2**31
    block = BlockReader(LocalFiles().map(f"{tmp_path}/blocks/{report.block.file}"), "the block")
    assert max(segment.length for segment in block.segments) < 2 * sizes.PIECE_BYTES
    assert sum(segment.rows for segment in block.segments) == count * repeated
    (tmp_path / "blocks" / report.block.file).unlink()
