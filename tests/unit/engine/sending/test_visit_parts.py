"""Visits: a slot gets those of its own units, for the lookups of the job, and all slots together get each once."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from braid.engine.commands import ProbeCommand, Visit
from braid.engine.sending.division import divide, open_common
from braid.engine.sending.visit_parts import read_visits, visit_parts
from braid.placement.admission import Admission
from braid.plan.layout import Layout, Segmenting


def a_command(units: int, visits: tuple[Visit, ...]) -> ProbeCommand:
    segments = (Segmenting(5, copies=2),) * 3
    layout = Layout(0, "coordinated", (units,), (1,), segments=segments)
    orders = ((1, 2), (0, 2), (1, 0))
    return ProbeCommand(4, "r", (layout,), (), orders, (), 0, 1, (), Admission(4), visits=visits)


def some_visits(chance: random.Random, units: int) -> tuple[Visit, ...]:
    found = (Visit(i, j, route, route) for i in range(3) for j in range(3) if i != j for route in range(units))
    return tuple(visit for visit in found if chance.random() < 0.7)


@pytest.mark.parametrize("seed", range(20))
def test_a_slot_gets_the_visits_of_its_units_in_the_lookups_of_the_job(seed: int) -> None:
    chance = random.Random(seed)
    units, slots = chance.randint(4, 9), chance.randint(1, 5)
    command = a_command(units, some_visits(chance, units))
    for first, last, lookups in (
        (0, 1, {(0, 1), (0, 2), (1, 0), (1, 2), (2, 1), (2, 0)}),
        (0, 0, {(0, 1), (1, 0), (2, 1)}),
        (1, 1, {(0, 2), (1, 2), (2, 0)}),
    ):
        job = replace(command, first_round=first, last_round=last)
        division = divide(job, slots)
        opened = open_common(ProbeCommand, division.common)
        for slot, own in enumerate(division.own):
            expected = [
                visit
                for visit in command.visits
                if visit.unit % slots == slot and (visit.delta_stream, visit.stream) in lookups
            ]
            assert list(opened(own, slot).visits) == expected


def test_what_follows_the_visits_of_a_slot_is_left_as_it_is() -> None:
    (part,) = visit_parts(a_command(4, (Visit(0, 1, 3, 2),)), slots=1)
    assert read_visits(part + b"rest") == ((Visit(0, 1, 3, 2),), b"rest")


def test_a_job_without_visits_sends_nothing_for_them() -> None:
    assert visit_parts(a_command(4, ()), slots=2) == [b"", b""]


def test_what_a_slot_gets_does_not_grow_with_the_cluster() -> None:
    largest = []
    for slots in (4, 64, 256):
        visits = tuple(Visit(i, j, n, n) for i in range(3) for j in range(3) if i != j for n in range(slots))
        largest.append(max(map(len, visit_parts(a_command(slots, visits), slots))))
    assert len(set(largest)) == 1
