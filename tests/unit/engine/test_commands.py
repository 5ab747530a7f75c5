"""Commands are divided by slot: every slot gets what it needs and nothing of another slot."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.merging import Merge
from braid.engine.commands import (
    ArrivalLogFrom,
    BufferedFrom,
    IngestCommand,
    ProbeCommand,
    RankCommand,
    ReleaseCommand,
    decode,
    encode,
)
from braid.engine.row_ids import RowIds
from braid.placement.admission import ALWAYS, Admission
from braid.plan.layout import Layout
from braid.state.manifest import Block
from braid.state.order_state import RankIndexFile

SLOTS = 4
LAYOUT = Layout(0, "partitioned", (8,), (1,))


def block(file: str, units: tuple[int, ...] | None, step: int, buffered: bool = False) -> Block:
    return Block(file, 0, step, step, 0, units, 10, 100, 0, 50, buffered)


PROBE = ProbeCommand(
    step=5,
    run="r",
    layouts=(LAYOUT,),
    blocks=(block("new", None, 5), block("all", None, 1), block("of 1 and 5", (1, 5), 2), block("of 2", (2,), 3)),
    join_orders=((1,), (0,)),
    merges=(Merge(0, ("all", "of 2"), 0, None), Merge(0, ("of 1 and 5",), 0, None)),
    first_round=0,
    last_round=0,
    exchanged=("x",),
    admission=Admission(5),
)


def test_a_slot_gets_new_blocks_and_those_with_rows_of_its_units() -> None:
    found = [[b.file for b in part.blocks] for part in PROBE.divide(SLOTS)]
    assert found == [
        ["new", "all"],
        ["new", "all", "of 1 and 5"],
        ["new", "all", "of 2"],
        ["new", "all"],
    ]


def test_all_slots_get_a_block_whose_buffered_rows_probe() -> None:
    probe = replace(PROBE, blocks=(block("late", (2,), 3, buffered=True),), admission=Admission(5, 10, 40))
    assert [len(part.blocks) for part in probe.divide(SLOTS)] == [1] * SLOTS


def test_a_slot_merges_only_its_own_blocks() -> None:
    assert [[merge.files for merge in part.merges] for part in PROBE.divide(SLOTS)] == [
        [("all",)],
        [("all",), ("of 1 and 5",)],
        [("all", "of 2")],
        [("all",)],
    ]


def test_units_of_fewer_slots_than_before_stay_covered() -> None:
    assert [[b.file for b in part.blocks] for part in PROBE.divide(1)] == [[b.file for b in PROBE.blocks]]


@pytest.mark.parametrize("cuts", [(), (10,), (10, 20, 30)])
def test_the_intervals_of_a_release_cover_each_time_once(cuts: tuple[int, ...]) -> None:
    command = ReleaseCommand(1, "r", (BufferedFrom("f", ALWAYS),), 40, cuts, ("a", "b", "c", "d", "e"))
    parts = command.divide(SLOTS)
    assert len(parts) == SLOTS
    for time in (-5, 0, 10, 11, 20, 30, 31, 40):
        assert sum(part.after_us < time <= part.until_us for part in parts) == 1
    assert not any(part.after_us < 41 <= part.until_us for part in parts)
    assert sorted(file for part in parts for file in part.compacted) == ["a", "b", "c", "d", "e"]
    assert all(part.frontier_us == 40 and part.cuts == () for part in parts)


@pytest.mark.parametrize("slots", [1, 2, 5])
def test_each_stream_is_ranked_by_one_slot(slots: int) -> None:
    logs = tuple(ArrivalLogFrom(stream, f"log {stream} {n}", 0) for stream in (0, 2, 3) for n in range(2))
    indexes = (RankIndexFile(2, "index 2", 5, None), RankIndexFile(3, "index 3", 5, 7))
    parts = RankCommand(1, "r", logs, indexes, 0, 9).divide(slots)
    assert len(parts) == slots
    assert sorted((log.stream, log.file) for part in parts for log in part.arrival_logs) == [
        (log.stream, log.file) for log in logs
    ]
    for part in parts:
        streams = {log.stream for log in part.arrival_logs}
        assert [index.stream for index in part.rank_indexes] == [s for s in (2, 3) if s in streams]


@pytest.mark.parametrize("slots", [1, SLOTS])
def test_a_task_decodes_the_part_of_its_slot(slots: int) -> None:
    text = encode(PROBE, slots)
    assert [decode(ProbeCommand, text, slot) for slot in range(slots)] == PROBE.divide(slots)


def test_a_command_that_is_not_divided_is_sent_once() -> None:
    command = IngestCommand(3, "r", (None, 7), LAYOUT, (None, None), RowIds(0, 2))
    text = encode(command, SLOTS)
    assert {decode(IngestCommand, text, slot) for slot in range(SLOTS)} == {command}
    assert len(text) == len(encode(command, 1))
