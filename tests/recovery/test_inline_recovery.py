"""Runs cut short at every kind of place, and resumed: the published files hold each result of the oracle once.

Spark's part is played here: a batch that was not committed is offered again; one whose manifest exists is offered
again or not, as Spark may or may not have logged it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pytest

from braid.control import compaction, merging, sizing
from braid.control.idleness import SourceCheck
from braid.control.memory.adapting import Decide
from braid.engine.tasks.merging import slices
from braid.optimizer.exchange import RequestedExchange
from braid.optimizer.strategies import Strategy, TimeSliced
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.state.manifest import Manifest
from braid.testing import FailingFiles, Fate, InjectedCrash, InlineQuery, ManualClock
from tests.budget import seeds
from tests.properties.cases import (
    Case,
    aligned,
    coordinated,
    interleaved,
    make_case,
    results_of,
    some_exchange,
    strategies,
    trees,
)
from tests.recovery.many_slots import as_with_many_slots

SINGLE = seeds(5000, 5)
CHAINED = seeds(6000, 16)
TREES = seeds(5100, 2)
RESIZED = seeds(5300, 2)
COPIED = seeds(5200, 2)
INTERLEAVED = seeds(5400, 3)
TASKS = seeds(7000, 10)
MOMENTS: tuple[Literal["before", "after"], ...] = ("before", "after")


@pytest.fixture(autouse=True)
def merge_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two blocks are enough to merge, so that few steps have old blocks to drop; most merges take several steps."""
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    monkeypatch.setattr(compaction, "SHARE", 0.0)
    monkeypatch.setattr(compaction, "LEAST_ROWS", 6)
    monkeypatch.setattr(slices, "MIN_ROWS_TO_CUT", 1)


class Drill:
    """A case run in one directory by one run after another, until every batch is committed."""

    def __init__(
        self,
        case: Case,
        directory: Path,
        chance: random.Random,
        *,
        changing: bool,
        strategy: Strategy | None = None,
        memory: Decide | None = None,
    ) -> None:
        self.case = case
        self._memory = memory
        self._only = strategy
        self.directory = str(directory)
        self.chance = chance
        self.clock = ManualClock(case.clock_ms[0])
        self.crashes = 0
        self.next_batch = 0
        self.started: dict[int, int] = {}
        self._choices: list[Strategy] = []
        if changing:
            self._choices = [*strategies(case.logical_plan, chance), *[interleaved(case.logical_plan, chance)] * 3]

    def attempt(self, files: FailingFiles, fates: Iterator[Fate] | None = None) -> bool:
        """One run of the driver: True when it reached the end, False when it died on the way."""
        try:
            query = InlineQuery(
                self.case.logical_plan,
                self.directory,
                strategy=self._strategy(),
                slots=self.chance.randint(1, 3) if self._choices else 2,
                ingest_tasks=self.chance.randint(1, 3) if self._choices else 1,
                clock=self.clock,
                files=files,
                fate=lambda _: "once" if fates is None else next(fates),
                exchange=self._exchange(),
                memory=self._memory,
            )
            began, taken_in = self.clock.now_ms, self._taken_in(query)
            self._follow_spark(query)
            while self.next_batch < len(self.case.batches):
                if self.next_batch > taken_in:
                    self.started[self.next_batch] = began
                self.clock.now_ms = self.case.clock_ms[self.next_batch]
                query.run(self.next_batch, self.case.tables(self.next_batch))
                self.next_batch += 1
            # The rounds that are left, while no stream can be idle.
            query.steps.tick(SourceCheck(self.clock(), (True,) * len(self.case.streams)))
            while query.steps.clean_up() is not None:
                pass
        except InjectedCrash:
            self.crashes += 1
            return False
        return True

    def check(self) -> None:
        """What was published is the oracle's answer, and no staged file was left behind."""
        query = InlineQuery(self.case.logical_plan, self.directory, clock=self.clock)
        assert query.last_batch == len(self.case.batches) - 1
        started = tuple(began for _, began in sorted(self.started.items()))
        expected = replace(self.case, started_ms=started).expected
        got = results_of(self.case, query.published())
        assert got == expected, f"{self.case.describe()}\nafter {self.crashes} crashes"
        assert LocalFiles().list(f"{self.directory}/out/_braid_staging") == []
        manifest = query.steps.manifest
        assert manifest.terms == ()
        named = {block.file for block in manifest.blocks} | set(manifest.dropped)
        named |= {payload.file for payload in manifest.payloads}
        named |= {part.file for begun in manifest.unfinished for part in begun.parts}
        named |= frozenset() if manifest.sites is None else manifest.sites.files
        assert set(LocalFiles().list(f"{query.checkpoint.path}/blocks")) == named

    @staticmethod
    def _taken_in(query: InlineQuery) -> int:
        """The newest batch whose decisions are recorded: no later run decides them again."""
        delta = query.checkpoint.read_delta(query.steps.manifest)
        return query.last_batch if delta is None else delta.batch

    def _follow_spark(self, query: InlineQuery) -> None:
        """Braid is at Spark's last commit or one ahead; then Spark may offer the batch again."""
        assert query.last_batch in (self.next_batch - 1, self.next_batch)
        if query.last_batch == self.next_batch and self.chance.random() < 0.5:
            self.next_batch += 1

    def _exchange(self) -> RequestedExchange:
        """One for all runs, unless they change strategies as well: then the operations are the same in every run."""
        chance = self.chance if self._choices else random.Random(self.case.seed)
        return some_exchange(self.case.logical_plan, chance)

    def _strategy(self) -> Strategy | None:
        return self.chance.choice(self._choices) if self._choices else self._only


@pytest.mark.parametrize("seed", SINGLE)
def test_a_crash_at_any_write_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    case = make_case(seed, small=True)
    counted = FailingFiles(LocalFiles())
    whole = Drill(case, tmp_path / "whole", random.Random(seed), changing=False)
    assert whole.attempt(counted)
    whole.check()
    for at in range(1, counted.operations + 1):
        for when in MOMENTS:
            drill = Drill(case, tmp_path / f"{at} {when}", random.Random(at), changing=False)
            assert not drill.attempt(FailingFiles(LocalFiles(), at, when))
            assert drill.attempt(FailingFiles(LocalFiles()))
            drill.check()


@pytest.mark.parametrize("seed", RESIZED)
def test_a_crash_at_any_write_loses_and_repeats_nothing_while_slots_in_use_change(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def every_other(manifest: Manifest, slots: int) -> int:
        return 1 + manifest.step % 2 if manifest.work_seconds else min(slots, max(manifest.layout.units))

    monkeypatch.setattr(sizing, "slots_needed", every_other)
    monkeypatch.setattr(sizing, "LEAST_SLOTS", 1)
    case = make_case(seed, small=True)
    crash_everywhere(lambda name: Drill(case, tmp_path / name, random.Random(name), changing=False))


@pytest.mark.parametrize("seed", TREES)
def test_a_crash_at_any_write_of_a_tree_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    """The first batch runs by sequences, so that the crashes also fall where a tree is made from what is stored."""
    case = make_case(seed, small=True, shares=(0, 100, 0))
    tree = trees(case.logical_plan, random.Random(seed))[-1]

    def begun(name: str) -> Drill:
        drill = Drill(case, tmp_path / name, random.Random(name), changing=False, strategy=tree)
        query = InlineQuery(case.logical_plan, drill.directory, clock=drill.clock)
        query.run(0, case.tables(0))
        drill.next_batch, drill.started[0] = 1, case.clock_ms[0]
        return drill

    crash_everywhere(begun)


@pytest.mark.parametrize("routing", [aligned, coordinated])
@pytest.mark.parametrize("seed", COPIED)
def test_a_crash_at_any_write_of_rows_with_copies_loses_and_repeats_nothing(
    seed: int, routing: Callable[[LogicalPlan, random.Random], Strategy], tmp_path: Path
) -> None:
    """The first batch runs by another strategy, so that the crashes also fall where its rows move."""
    case = make_case(seed, small=True, shares=(20, 80, 0))
    strategy = routing(case.logical_plan, random.Random(seed))

    def begun(name: str) -> Drill:
        drill = Drill(case, tmp_path / name, random.Random(name), changing=False, strategy=strategy)
        query = InlineQuery(case.logical_plan, drill.directory, clock=drill.clock)
        query.run(0, case.tables(0))
        drill.next_batch, drill.started[0] = 1, case.clock_ms[0]
        return drill

    crash_everywhere(begun)


def crash_everywhere(begun: Callable[[str], Drill]) -> None:
    """Runs that crash at each operation on storage in turn, and are resumed."""
    counted = FailingFiles(LocalFiles())
    whole = begun("whole")
    assert whole.attempt(counted)
    whole.check()
    for at in range(1, counted.operations + 1):
        drill = begun(str(at))
        assert not drill.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert drill.attempt(FailingFiles(LocalFiles()))
        drill.check()


@pytest.mark.parametrize("seed", INTERLEAVED)
def test_a_crash_at_any_write_of_interleaved_rounds_loses_and_repeats_nothing(seed: int, tmp_path: Path) -> None:
    case = make_case(seed, small=True, shares=(0, 50, 50))
    strategy = TimeSliced(3, 4, interleave=2 + seed % 2)

    def drill(name: str) -> Drill:
        return Drill(case, tmp_path / name, random.Random(name), changing=False, strategy=strategy)

    counted = FailingFiles(LocalFiles())
    whole = drill("whole")
    assert whole.attempt(counted)
    whole.check()
    for at in range(1, counted.operations + 1):
        crashed = drill(str(at))
        assert not crashed.attempt(FailingFiles(LocalFiles(), at, MOMENTS[at % 2]))
        assert crashed.attempt(FailingFiles(LocalFiles()))
        crashed.check()


@pytest.mark.parametrize("seed", CHAINED)
def test_crash_after_crash_with_other_strategies_loses_and_repeats_nothing(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance = random.Random(seed)
    if seed % 2:
        as_with_many_slots(monkeypatch, 1 + seed % 3)
    drill = Drill(make_case(seed, small=True), tmp_path, chance, changing=True)
    while drill.crashes < 10:
        if drill.attempt(FailingFiles(LocalFiles(), chance.randint(1, 6), chance.choice(MOMENTS))):
            break
    assert drill.attempt(FailingFiles(LocalFiles()))
    drill.check()


@pytest.mark.parametrize("seed", TASKS)
def test_tasks_that_run_twice_or_kill_the_driver_change_nothing(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    drill = Drill(make_case(seed, small=True), tmp_path, chance, changing=True)

    def fates(crash_at: int) -> Iterator[Fate]:
        for number in range(1, 100_000):
            yield "crash" if number == crash_at else chance.choice(("once", "retried", "duplicated"))

    while drill.crashes < 6 and not drill.attempt(FailingFiles(LocalFiles()), fates(chance.randint(1, 20))):
        pass
    assert drill.attempt(FailingFiles(LocalFiles()), fates(0))
    drill.check()
