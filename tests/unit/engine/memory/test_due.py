"""When deferred results are due: for an earlier run's, for the disk, or because memory has room again."""

from __future__ import annotations

from dataclasses import replace

from braid.engine.memory.disk import DiskLimit, Room
from braid.engine.memory.due import DueCleanUps
from braid.plan.layout import Layout
from braid.state.files import LocalFiles
from braid.state.manifest import Manifest
from braid.state.observed.groups import GroupLoad, GroupState, MemoryHistory, Push

LAYOUT = Layout(0, "partitioned", (1,), (1,), group_units=(0, 0))
NOTHING = Manifest(3, 3, "run", 0, (), (LAYOUT,), (), 0, groups=GroupState((GroupLoad(),) * 2, MemoryHistory(0)))
PUSHED = replace(NOTHING, groups=GroupState((GroupLoad(),) * 2, MemoryHistory(0), (Push(2, (1,)),)))


class Disk(DiskLimit):
    """A disk with as much room as a test says."""

    def __init__(self) -> None:
        super().__init__(LocalFiles(), "", None)
        self.given: Room = "enough"

    @property
    def room(self) -> Room:
        return self.given


def test_what_an_earlier_run_deferred_is_found_before_its_first_batch() -> None:
    due = DueCleanUps(PUSHED, lambda _: (), Disk(), None)
    assert due.between(PUSHED) is None
    assert due.before_batch(PUSHED)
    assert due.before_batch(PUSHED)
    assert not due.before_batch(NOTHING)
    assert not due.before_batch(PUSHED), "this run has deferred it"
    assert due.between(PUSHED) == ()


def test_a_disk_with_little_room_brings_one_clean_up_for_each_batch_and_a_full_one_all() -> None:
    disk = Disk()
    due = DueCleanUps(NOTHING, lambda _: (1,), disk, None)
    assert not due.before_batch(PUSHED)
    disk.given = "little"
    following = replace(PUSHED, batch=4)
    assert [due.before_batch(following) for _ in range(3)] == [True, False, False]
    assert due.before_batch(replace(PUSHED, batch=5))
    disk.given = "none"
    assert [due.before_batch(following) for _ in range(3)] == [True] * 3
    assert due.between(PUSHED) is None
    disk.given = "enough"
    assert due.between(PUSHED) == (1,)


def test_the_room_is_what_the_largest_batch_so_far_would_leave() -> None:
    disk = DiskLimit(LocalFiles(), "", 1000)
    rooms = []
    for size in (0, 700, 701, 901):
        disk.size, disk._largest_ingest = size, 100
        rooms.append(disk.room)
    assert rooms == ["enough", "enough", "little", "none"]
    assert DiskLimit(LocalFiles(), "", None).room == "enough"
