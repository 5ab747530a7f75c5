"""Which parts of partition groups lookups see; pushes and clean-ups against all combinations of parts."""

from __future__ import annotations

import random
from itertools import product

import pytest

from braid.control.memory.deferring import clean_up_jobs
from braid.placement.deferral import CleanUp, PartView
from braid.state.observed.groups import Push
from tests.budget import seeds

GROUPS, STEPS = 3, 9


def part(pushes: tuple[Push, ...], group: int, step: int) -> int:
    return sum(group in push.groups for push in pushes if push.step <= step)


def is_seen(view: PartView, group: int, step: int, delta: int, stream: int) -> bool:
    shown = view.shown(step, delta, stream)
    return shown is None or bool(view.mask(shown)[group])


@pytest.mark.parametrize("seed", seeds(81_000, 12))
def test_steps_and_clean_ups_find_every_combination_once(seed: int) -> None:
    """A row of every stream and step; groups are cleaned up in two halves after the last step."""
    chance = random.Random(seed)
    streams = chance.choice((2, 3, 4))
    at = sorted(chance.sample(range(1, STEPS), chance.randint(1, 4)))
    some = [tuple(sorted(chance.sample(range(GROUPS), chance.randint(1, GROUPS)))) for _ in at]
    pushes = tuple(Push(step, groups) for step, groups in zip(at, some, strict=True))
    for group in range(GROUPS):
        found = dict.fromkeys(product(range(STEPS), repeat=streams), 0)
        for steps in found:
            last = max(range(streams), key=lambda stream: (steps[stream], stream))
            known = tuple(push for push in pushes if push.step <= steps[last])
            view = PartView(GROUPS, known, streams)
            others = [s for s in range(streams) if s != last]
            found[steps] += all(is_seen(view, group, steps[s], last, s) for s in others)
        owing = {g for push in pushes for g in push.groups}
        for half in ((0,), (1, 2)):
            cleaned = tuple(sorted(owing.intersection(half)))
            for job in clean_up_jobs(pushes, cleaned, streams, STEPS):
                _clean(found, PartView(GROUPS, pushes, streams, job), job, group, streams)
        assert set(found.values()) == {1}, (pushes, group)


def _clean(found: dict[tuple[int, ...], int], view: PartView, job: CleanUp, group: int, streams: int) -> None:
    starting = view.starting()
    assert starting is not None
    if not starting[group]:
        return
    for delta in (stream for stream in range(streams) if job.starts(stream, streams)):
        others = [stream for stream in range(streams) if stream != delta]
        for steps in found:
            within = job.first_step <= steps[delta] <= job.last_step
            found[steps] += within and all(is_seen(view, group, steps[s], delta, s) for s in others)


def test_without_pushes_everything_is_seen() -> None:
    view = PartView(GROUPS, (), 2)
    assert view.shown(5, 0, 1) is None
    assert view.starting() is None
    assert view.in_memory(3) is None


def test_a_pushed_group_is_not_in_memory_until_it_is_cleaned_up() -> None:
    pushes = (Push(4, (0, 2)),)
    assert in_memory(PartView(GROUPS, pushes, 2), 3) == [False, True, False]
    assert in_memory(PartView(GROUPS, pushes, 2), 4) == [True] * 3
    assert in_memory(PartView(GROUPS, pushes, 2, CleanUp((0,), 4, 8, 0)), 3) == [True, True, False]


def in_memory(view: PartView, step: int) -> list[bool]:
    found = view.in_memory(step)
    assert found is not None
    return [bool(value) for value in found]
