"""Watermarks: late by one microsecond is late, idle streams hold nobody back, nothing ever falls."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from braid.control.idleness import Silence, SourceCheck
from braid.control.watermarks import (
    StepTimes,
    advance_marks,
    decide_times,
    has_filled,
    is_expired,
    latest_times,
)
from braid.optimizer.build import build_plan
from braid.plan.expressions import Column
from braid.plan.join import JoinPlan
from braid.state.manifest import Block, Mark
from braid.testing import Draft


def plan(*lateness_us: int | None, window_us: int | None = 10, idle_after_ms: int | None = None) -> JoinPlan:
    draft = Draft()
    for number, lateness in enumerate(lateness_us):
        draft.stream(f"s{number}", {}, window_us=window_us, lateness_us=lateness, idle_after_ms=idle_after_ms)
    return build_plan(draft.logical_plan())


def times_at(made: JoinPlan, marks: tuple[Mark, ...], now_ms: int) -> StepTimes:
    """The times of a step without rows, in a run that began at 0 and has just looked at its empty sources."""
    check = SourceCheck(now_ms, (False,) * len(marks))
    return decide_times(made, marks, Silence(made, 0).idle(marks, check))


def test_a_watermark_is_the_newest_time_minus_lateness() -> None:
    marks = (Mark(100, None, 0), Mark(100, None, 0), Mark(100, None, 0), Mark(None, None, 0))
    assert times_at(plan(0, 30, None, 0), marks, 0).watermarks == (100, 70, None, None)


def test_an_idle_stream_takes_the_smallest_watermark_of_the_others() -> None:
    marks = (Mark(10, None, 0), Mark(100, None, 50), Mark(80, None, 50))
    times = times_at(plan(0, 0, 0, idle_after_ms=50), marks, 60)
    assert (times.watermarks, times.idle) == ((80, 100, 80), (True, False, False))


def test_an_idle_stream_that_is_ahead_does_not_fall_back() -> None:
    times = times_at(plan(0, 0, idle_after_ms=50), (Mark(200, None, 0), Mark(100, None, 50)), 60)
    assert times.watermarks == (200, 100)


@pytest.mark.parametrize(("now_ms", "idle"), [(49, False), (50, True)])
def test_silence_is_counted_to_the_millisecond(now_ms: int, idle: bool) -> None:
    assert times_at(plan(0, 0, idle_after_ms=50), (Mark(1, None, 0), Mark(1, None, now_ms)), now_ms).idle[0] is idle


def test_nothing_moves_when_all_are_idle_or_one_awake_has_no_watermark() -> None:
    bounded = plan(0, 0, idle_after_ms=50)
    assert times_at(bounded, (Mark(1, None, 0), Mark(9, None, 0)), 99).watermarks == (1, 9)
    assert times_at(bounded, (Mark(1, None, 0), Mark(None, None, 99)), 99).watermarks == (1, None)


def test_an_idle_stream_without_a_limit_on_lateness_keeps_what_it_was_given() -> None:
    """Having been idle, it is held to the mark of the others even when it wakes."""
    made = plan(None, 0, idle_after_ms=50)
    marks = (Mark(5, None, 0), Mark(100, None, 99))
    times = times_at(made, marks, 99)
    assert times.watermarks == (100, 100)
    marks = advance_marks(marks, times, (150, None), 99)
    assert times_at(made, marks, 100).watermarks == (100, 100)


def test_marks_remember_the_newest_time_and_the_last_activity() -> None:
    times = times_at(plan(0, 0), (Mark(5, None, 1), Mark(None, None, 1)), 9)
    assert advance_marks((Mark(5, None, 1), Mark(None, None, 1)), times, (3, None), 9) == (
        Mark(5, 5, 9),
        Mark(None, None, 1),
    )


def test_watermarks_never_fall() -> None:
    chance = random.Random(1)
    for _ in range(50):
        made = plan(*(chance.choice((0, 5, 40, None)) for _ in range(3)), idle_after_ms=chance.choice((None, 10)))
        marks = tuple(Mark(None, None, 0) for _ in range(3))
        now, before = 0, (None,) * 3
        for _ in range(40):
            now += chance.randint(0, 12)
            times = times_at(made, marks, now)
            for old, new in zip(before, times.watermarks, strict=True):
                assert old is None or (new is not None and new >= old)
            before = times.watermarks
            newest = tuple(chance.choice((None, chance.randint(0, 200))) for _ in range(3))
            marks = advance_marks(marks, times, newest, now)


def test_a_block_expires_when_every_other_watermark_has_passed_its_reach() -> None:
    made = plan(0, 0, 0, window_us=10)
    assert not is_expired(made, 0, 100, (0, 111, 110))
    assert is_expired(made, 0, 100, (0, 111, 111))
    assert not is_expired(made, 0, 100, (999, None, 111))
    assert not is_expired(plan(0, 0, window_us=None), 0, 100, (999, 999))


def test_a_window_has_filled_when_rows_span_what_is_kept_of_them() -> None:
    bounded = plan(0, 0)
    reach = max(reach for _, reach in bounded.reaches(0) if reach is not None)
    assert not has_filled(bounded, 0, Mark(None, None, 0))
    assert not has_filled(bounded, 0, Mark(100 + reach - 1, None, 0, oldest_us=100))
    assert has_filled(bounded, 0, Mark(100 + reach, None, 0, oldest_us=100))


def test_the_oldest_row_ever_stored_is_remembered() -> None:
    times = times_at(plan(0, 0), (Mark(None, None, 0), Mark(None, None, 0)), 9)
    first = Block("a", 0, 0, 0, 0, None, 1, 1, 5, 9)
    marks = advance_marks((Mark(None, None, 0), Mark(None, None, 0)), times, (9, None), 9, [first])
    assert [mark.oldest_us for mark in marks] == [5, None]
    later = replace(first, min_time=20, max_time=20)
    assert advance_marks(marks, times, (20, None), 10, [later])[0].oldest_us == 5


def test_times_without_a_zone_are_ahead_of_the_clock_on_the_wall() -> None:
    draft = Draft()
    for name, ahead in (("a", 5), ("b", 5), ("c", None)):
        draft.stream(name, {}, window_us=1, max_ahead_us=ahead)
    plan = replace(build_plan(draft.logical_plan()), time_zone="+01:00")
    local = replace(plan.streams[1], columns=(Column("b.ts", 1, "timestamp_ntz"),))
    plan = replace(plan, streams=(plan.streams[0], local, plan.streams[2]))
    assert latest_times(plan, 7) == (7005, 7005 + 3_600_000_000, None)
