"""Dataclasses as compact JSON are read back exactly; every long tuple of a record that can be packed is."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest

from braid.state.compact import PACKED, from_compact, is_packable, to_compact
from braid.state.manifest import AggregateBlock, Block, DeltaRecord, Load, Manifest, Mark, Merge, Move, Pressure
from braid.state.order_state import Arrival, ArrivalLog, BufferedBlock


@dataclass(frozen=True)
class Inner:
    names: tuple[str, ...]


@dataclass(frozen=True)
class Outer:
    blocks: tuple[Block, ...]
    moves: tuple[Move, ...]
    marks: tuple[Mark, ...]
    inner: Inner | None
    nested: tuple[Inner, ...]
    merges: tuple[Merge, ...]
    seconds: tuple[float, ...]
    note: str = ""


def block(n: int) -> Block:
    units = None if n % 3 == 0 else tuple(range(n % 4))
    return Block(
        f"file {n:05d}", n % 2, n - 1, n, 0, units, n * n, -n, -(2**63) + n, 2**63 - 1 - n, n % 5 == 0, n % 7 > 0
    )


OLDER = tuple(map(block, range(4)))
OUTER = Outer(
    tuple(map(block, range(100))),
    tuple(Move(f"_s/{n}", f"part-{n:012d}.parquet", n % 2 == 0) for n in range(20)),
    tuple(Mark(None if n % 2 else n, n, 5, None) for n in range(9)),
    Inner(tuple(f"n{n}" for n in range(50))),
    (Inner(("a",)),),
    tuple(
        Merge(0, tuple(f"f{n}" for n in range(m % 3)), m, None, parts=tuple(map(block, range(m % 4)))) for m in range(9)
    ),
    (0.1, -0.0, 1e300, float("inf"), *range(8)),
)


@pytest.mark.parametrize("value", [OUTER, replace(OUTER, blocks=OUTER.blocks[:3], moves=(), inner=None)])
def test_values_are_read_back(value: Outer) -> None:
    content = json.loads(json.dumps(to_compact(value), default=vars))
    assert from_compact(Outer, content) == value


def test_long_tuples_are_packed_and_short_ones_readable() -> None:
    content = to_compact(OUTER)
    assert all(set(content[name]) == {PACKED} for name in ("blocks", "moves", "marks", "merges", "seconds"))
    assert set(content["inner"]["names"]) == {PACKED}
    assert to_compact(replace(OUTER, blocks=OUTER.blocks[:2]))["blocks"] == OUTER.blocks[:2]


@pytest.mark.parametrize(
    "kind", [Block, Move, Load, Pressure, AggregateBlock, BufferedBlock, Arrival, ArrivalLog, Merge, float]
)
def test_what_a_record_has_once_for_each_slot_can_be_packed(kind: Any) -> None:
    assert is_packable(tuple.__class_getitem__((kind, ...)))


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError):
        from_compact(Mark, {"newest_us": 1, "what": 2})
    with pytest.raises(TypeError):
        from_compact(DeltaRecord, {})
    with pytest.raises(TypeError):
        from_compact(Manifest, {"step": 1})
