"""Which open segments are kept: those used lately stay, however often others are looked up."""

from __future__ import annotations

from braid.engine.tasks.worker.room import Room


def test_what_fits_is_kept() -> None:
    room: Room[str] = Room()
    assert room.enter("a", 4, step=0, capacity=10) == (True, [])
    assert room.enter("b", 6, step=0, capacity=10) == (True, [])
    assert room.size == 10
    assert "a" in room
    assert "b" in room


def test_what_was_used_lately_is_not_replaced() -> None:
    room: Room[str] = Room()
    room.enter("a", 8, step=0, capacity=10)
    assert room.enter("b", 8, step=1, capacity=10) == (False, [])
    assert room.enter("b", 8, step=2, capacity=10) == (True, ["a"])
    assert room.size == 8
    assert "a" not in room


def test_use_keeps_its_place_and_the_longest_unused_leaves_first() -> None:
    room: Room[str] = Room()
    for key in "abc":
        room.enter(key, 3, step=0, capacity=9)
    room.use("a", step=2)
    room.use("unknown", step=2)
    assert room.enter("d", 3, step=2, capacity=9) == (True, ["b"])
    assert room.enter("e", 6, step=3, capacity=9) == (False, ["c"])


def test_what_is_larger_than_the_room_never_enters() -> None:
    room: Room[str] = Room()
    assert room.enter("a", 11, step=0, capacity=10) == (False, [])
    assert room.size == 0


def test_a_smaller_room_is_emptied_from_the_longest_unused() -> None:
    room: Room[str] = Room()
    for key in "abc":
        room.enter(key, 3, step=0, capacity=9)
    room.use("a", step=1)
    assert room.shrink(4) == ["b", "c"]
    assert room.shrink(0) == ["a"]
    assert room.size == 0
    room.leave("a")
    assert room.size == 0
