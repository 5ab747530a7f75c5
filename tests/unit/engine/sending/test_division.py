"""A command that is not a probe command is divided by comparing the parts of its slots."""

from __future__ import annotations

from braid.engine.commands import BufferedFrom, IngestCommand, ReleaseCommand
from braid.engine.row_ids import RowIds
from braid.engine.sending.division import divide, open_common
from braid.plan.layout import Layout

SLOTS = 64


def test_what_all_slots_share_is_sent_once() -> None:
    blocks = tuple(BufferedFrom(f"0a1b2c3d-000000000003-s{n:05d}-{n * n * n}.buffered", n * n) for n in range(500))
    release = ReleaseCommand(3, "r", blocks, 640, tuple(range(10, 640, 10)), ())
    division = divide(release, SLOTS)
    joined = open_common(ReleaseCommand, division.common)
    assert [joined(own, slot) for slot, own in enumerate(division.own)] == release.divide(SLOTS)
    assert max(map(len, division.own)) < 100
    assert len(division.common) < 500 * 12


def test_a_command_that_is_the_same_for_all_slots_has_one_part() -> None:
    command = IngestCommand(3, "r", (None, 7), Layout(0, "partitioned", (8,), (1,)), (None, None), RowIds(0, 2))
    division = divide(command, SLOTS)
    assert division.own == ()
    assert open_common(IngestCommand, division.common)(b"", 5) == command
