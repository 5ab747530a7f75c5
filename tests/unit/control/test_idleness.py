"""Silence of a source: what a run has seen of it, once it was read."""

from __future__ import annotations

import pytest

from braid.control.idleness import Silence, SourceCheck
from braid.optimizer.build import build_plan
from braid.state.manifest import Mark
from braid.testing import Draft


@pytest.mark.parametrize(
    ("started_ms", "checked_ms", "unread", "newest", "idle"),
    [
        (0, 50, False, None, True),
        (1, 50, False, None, False),
        (900, 949, False, None, False),
        (900, 950, False, None, True),
        (900, 950, True, None, False),
        (900, 950, False, 7, False),
        (900, -1, False, None, False),
    ],
)
def test_silence_is_what_a_run_has_seen_of_a_source_that_it_has_read(
    started_ms: int, checked_ms: int, unread: bool, newest: int | None, idle: bool
) -> None:
    draft = Draft()
    for name in "ab":
        draft.stream(name, {}, window_us=10, lateness_us=0, idle_after_ms=50)
    plan, marks = build_plan(draft.logical_plan()), (Mark(1, None, 0), Mark(9, None, 0))
    check = SourceCheck(checked_ms, (unread, True))
    assert Silence(plan, started_ms).idle(marks, check, (newest, None)) == (idle, False)
