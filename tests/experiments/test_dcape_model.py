"""The model of spills and relocations against nested loops; and small runs of every experiment."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest

from braid.control.memory.decisions import Decided, Relocate, Spill
from braid.control.memory.groups import MemoryState
from braid.control.memory.overflow import decide_overflow
from braid.control.memory.settings import MemorySettings
from experiments import dcape
from experiments.dcape.input import Input, even_load, rows_of_steps, steps_of
from experiments.dcape.model import ROW_BYTES, Run, arrivals, run_model
from experiments.dcape.size import Size
from experiments.experiment import Experiment, plain
from tests.budget import seeds

SMALL = Size("small", groups=12, range_rows=240, rows_a_second=0.8, step_seconds=15, seeds=3)


def a_run(seed: int, units: int = 2) -> Run:
    chance = random.Random(seed)
    source = Input(48, tuple(chance.choice((1, 2, 3)) for _ in range(6)), seed, chance.choice((2, 3)))
    return Run(source, even_load(6, 12), 8, 1_000, np.arange(6) % units)


def test_rows_arrive_as_they_are_generated() -> None:
    run = a_run(1)
    firsts = np.cumsum(run.source.values_of_groups) - run.source.values_of_groups
    generated = steps_of(run.source, rows_of_steps(run.load, run.rows))
    for arrived, step in zip(arrivals(run), generated, strict=True):
        for counted, (groups, values) in zip(arrived, step, strict=True):
            assert counted.tolist() == np.bincount(firsts[groups] + values, minlength=len(counted)).tolist()


@pytest.mark.parametrize("seed", seeds(0, 25))
def test_results_of_a_run_are_those_of_nested_loops_over_parts(seed: int) -> None:
    """A row belongs to the part of its group in which it came; rows of one part find each other at once."""
    chance, run = random.Random(seed), a_run(seed, units=seed % 3 + 1)
    limit = int(chance.choice((0.2, 0.4)) * run.all_bytes / run.units)
    settings = MemorySettings(
        limit, chance.choice(["lazy-disk", "active-disk"]), min_interval_ms=0, sample_every_ms=2_000
    )
    outcome = run_model(run, settings)
    spills = [(step, one) for step, one in outcome.adaptations if isinstance(one, Spill)]
    assert spills
    streams: list[Counter[tuple[int, int, int]]] = [Counter() for _ in range(run.source.streams)]
    for step, by_stream in enumerate(steps_of(run.source, rows_of_steps(run.load, run.rows))):
        for counts, (groups, values) in zip(streams, by_stream, strict=True):
            for group, value in zip(groups.tolist(), values.tolist(), strict=True):
                counts[group, value, sum(group in spill.groups for at, spill in spills if at <= step)] += 1
    at_once = later = 0
    for rows in itertools.product(*streams):
        if len({row[:2] for row in rows}) == 1:
            found = int(np.prod([counts[row] for counts, row in zip(streams, rows, strict=True)]))
            at_once, later = (at_once + found, later) if len(set(rows)) == 1 else (at_once, later + found)
    assert (outcome.results[-1], sum(outcome.deferred)) == (at_once, later)


def test_nothing_is_adapted_with_enough_memory_at_one_unit() -> None:
    run = a_run(3, units=1)
    outcome = run_model(run, MemorySettings(run.all_bytes * 2))
    assert (outcome.adaptations, outcome.deferred, outcome.reread) == ([], [0], [0])
    assert outcome.used[-1] == [run.all_bytes]


def test_decisions_are_made_from_what_the_steps_before_have_counted() -> None:
    run, seen = a_run(4), list[MemoryState]()

    def watch(settings: MemorySettings, state: MemoryState) -> Decided:
        seen.append(state)
        return decide_overflow(settings, state)

    outcome = run_model(run, MemorySettings(run.all_bytes // 5, min_interval_ms=0), watch)
    assert outcome.kinds(Spill)
    assert seen[0].live_bytes == 0
    arrived = np.cumsum(rows_of_steps(run.load, run.rows).sum(axis=1)) * run.source.streams * ROW_BYTES
    assert [state.live_bytes for state in seen[1:]] == arrived[:-1].tolist()
    assert [state.now_ms for state in seen] == [1_000 * step for step in range(12)]


def test_groups_move_from_a_skewed_assignment() -> None:
    run = a_run(5, units=1)
    skewed = Run(run.source, run.load, run.rows, run.step_ms, np.array([0, 0, 0, 0, 0, 1]))
    outcome = run_model(skewed, MemorySettings(run.all_bytes, min_interval_ms=0))
    assert outcome.kinds(Relocate)
    assert max(outcome.used[-1]) < 2 * min(outcome.used[-1])


@pytest.mark.parametrize("experiment", dcape.MODELLED, ids=lambda one: one.name)
def test_a_small_run_can_be_judged_and_tabled(experiment: Experiment) -> None:
    measured = plain(experiment.measure(SMALL))
    assert all(one.verdict.here for one in experiment.judged(measured))
    for table in experiment.tables(measured):
        assert {len(row) for row in table.rows} == {len(table.headings)}
