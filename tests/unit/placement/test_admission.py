"""Which rows a step starts from, and which stored rows its lookups see, also when later steps have stored rows."""

from __future__ import annotations

import pytest

from braid.placement.admission import ALWAYS, NEVER, Admission
from braid.state.manifest import Block

STEP = 5


def block(first: int, last: int, buffered: bool = False) -> Block:
    return Block("b", 0, first, last, 0, None, 10, 100, 10, 50, buffered)


@pytest.mark.parametrize("before", [True, False], ids=["stream before", "stream after"])
@pytest.mark.parametrize("buffered", [True, False], ids=["buffered", "plain"])
def test_blocks_of_later_steps_are_invisible(before: bool, buffered: bool) -> None:
    for first, last in ((STEP + 1, STEP + 1), (STEP + 1, STEP + 4)):
        later = block(first, last, buffered)
        assert Admission(STEP).seen_until(later, before) is None
        assert Admission(STEP, covers="earlier").seen_until(later, before) is None
        assert Admission(STEP).starting(later) is None
        assert Admission(STEP, covers="earlier").starting(later) is None


def test_a_stream_before_shows_the_rows_of_the_step_and_a_stream_after_does_not() -> None:
    own, earlier = block(STEP, STEP), block(1, STEP - 1)
    assert Admission(STEP).seen_until(own, before=True) == NEVER
    assert Admission(STEP).seen_until(own, before=False) is None
    assert Admission(STEP).seen_until(earlier, before=True) == NEVER
    assert Admission(STEP).seen_until(earlier, before=False) == NEVER


def test_the_rows_of_the_step_start() -> None:
    assert Admission(STEP).starting(block(STEP, STEP)) == (ALWAYS, NEVER)
    assert Admission(STEP).starting(block(1, STEP - 1)) is None
    assert Admission(STEP, 20, 40).starting(block(1, STEP - 1, buffered=True)) == (20, 40)
