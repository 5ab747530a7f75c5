"""The clock that a test moves."""

from __future__ import annotations

import pytest

from braid.testing import (
    ManualClock,
)


def test_a_clock_does_not_go_back() -> None:
    clock = ManualClock(5)
    clock.advance(3)
    assert clock() == 8
    with pytest.raises(ValueError, match="does not go back"):
        clock.advance(-1)
