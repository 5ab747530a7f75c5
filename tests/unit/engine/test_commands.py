"""Commands are divided by slot: every slot gets what it needs and nothing of another slot."""

from __future__ import annotations

import pytest

from braid.engine.commands import ArrivalLogFrom, BufferedFrom, RankCommand, ReleaseCommand
from braid.placement.admission import ALWAYS
from braid.state.order_state import RankIndexFile

SLOTS = 4


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
