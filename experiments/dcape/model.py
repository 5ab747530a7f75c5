"""A model of spills and relocations: the controllers decide, and results are counted by join values.

Every row is counted, no row is compared: of a value with a, b and c rows in the newest part of its group there are
a·b·c results, and what the parts of a group have together and not by themselves is deferred. As in the paper the
processors keep up with the input, so adaptations take no time. A decision is made between two steps from what the steps
before have counted, as a query makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from braid.control.memory.decisions import Decided, Nothing, Relocate, Spill
from braid.control.memory.groups import Groups, MemoryState, used_bytes
from braid.control.memory.overflow import decide_overflow
from braid.control.memory.settings import MemorySettings
from braid.placement.parts import deferred_combinations
from braid.state.observed.groups import MemoryHistory
from experiments.dcape.input import Input, Numbers, rows_of_steps

Decide = Callable[[MemorySettings, MemoryState], Decided]

ROW_BYTES = 100
"""Limits are given in shares of what arrives, so this has no effect on what is decided."""


@dataclass(frozen=True, eq=False)
class Run:
    """The input, how it comes, and how the groups are distributed over units at first."""

    source: Input
    load: npt.NDArray[np.float64]
    """The share of each group in the rows of every step."""
    rows: int
    """Of each stream in a step."""
    step_ms: int
    owners: Numbers

    @property
    def units(self) -> int:
        return int(self.owners.max()) + 1

    @property
    def all_bytes(self) -> int:
        """What arrives in the run."""
        return int(rows_of_steps(self.load, self.rows).sum()) * self.source.streams * ROW_BYTES


@dataclass
class Outcome:
    """What happened, step by step, and what is left to clean up."""

    results: list[int] = field(default_factory=list)
    """Found so far, after each step."""
    used: list[list[int]] = field(default_factory=list)
    """The bytes in memory of each unit, after each step."""
    adaptations: list[tuple[int, Spill | Relocate]] = field(default_factory=list)
    deferred: list[int] = field(default_factory=list)
    """Results left to clean-up at the end, by unit."""
    reread: list[int] = field(default_factory=list)
    """Rows of groups with deferred results, by unit: what clean-up reads."""

    def kinds(self, kind: type[Spill] | type[Relocate]) -> list[int]:
        """The steps with adaptations of a kind."""
        return [step for step, adaptation in self.adaptations if isinstance(adaptation, kind)]


class Model:
    """The state of a run: how many rows of each stream and value are in memory, and the spilled parts of each group."""

    def __init__(self, run: Run, settings: MemorySettings, decide: Decide) -> None:
        self.run, self.settings, self.decide = run, settings, decide
        self.bounds = np.concatenate([[0], np.cumsum(run.source.values_of_groups)])
        self.in_memory = np.zeros((run.source.streams, int(self.bounds[-1])), np.int64)
        self.spilled: dict[int, list[Numbers]] = {}
        count = run.source.groups
        zeros = np.zeros(count, np.int64)
        self.groups = Groups(run.owners, zeros, zeros, zeros, np.zeros(count, np.bool_), zeros)
        self.history = MemoryHistory(0)
        self.spilled_bytes = 0
        self.outcome = Outcome()

    def step(self, number: int, arrived: Numbers) -> None:
        """Decide and carry out, then add the rows of a step."""
        now_ms = number * self.run.step_ms
        used = used_bytes(self.groups, self.run.units)
        state = MemoryState(number, now_ms, self.groups, used, self.history, self.spilled_bytes)
        self._carry_out(number, self.decide(self.settings, state))
        before = self.in_memory.prod(axis=0)
        self.in_memory = self.in_memory + arrived
        found = self._by_group(self.in_memory.prod(axis=0) - before)
        rows = self._by_group(arrived.sum(axis=0))
        groups = self.groups
        self.groups = replace(
            groups,
            sizes=groups.sizes + rows * ROW_BYTES,
            outputs=groups.outputs + found,
            sampled_outputs=groups.sampled_outputs + found,
            last_inserts_ms=np.where(rows > 0, now_ms + self.run.step_ms, groups.last_inserts_ms),
        )
        earlier = self.outcome.results[-1] if self.outcome.results else 0
        self.outcome.results.append(earlier + int(found.sum()))
        self.outcome.used.append(used_bytes(self.groups, self.run.units).tolist())

    def finish(self) -> Outcome:
        """What clean-up has to find and read, by unit."""
        deferred, reread = np.zeros(self.run.units), np.zeros(self.run.units)
        for group, earlier in self.spilled.items():
            parts = np.stack([*earlier, self._own(group)], axis=-1)
            deferred[self.groups.owners[group]] += deferred_combinations(parts.swapaxes(0, 1)).sum()
            reread[self.groups.owners[group]] += parts.sum()
        self.outcome.deferred, self.outcome.reread = deferred.astype(int).tolist(), reread.astype(int).tolist()
        return self.outcome

    def _carry_out(self, number: int, decided: Decided) -> None:
        owners, sizes = self.groups.owners.copy(), self.groups.sizes.copy()
        outputs, debts = self.groups.outputs.copy(), self.groups.debts.copy()
        for adaptation in decided.adaptations:
            if isinstance(adaptation, Nothing):
                continue
            self.outcome.adaptations.append((number, adaptation))
            chosen = list(adaptation.groups)
            if isinstance(adaptation, Relocate):
                owners[chosen] = adaptation.target
                continue
            sizes[chosen], outputs[chosen], debts[chosen] = 0, 0, True
            self.spilled_bytes += adaptation.size_bytes
            for group in chosen:
                self.spilled.setdefault(group, []).append(self._own(group).copy())
                self._own(group)[:] = 0
        sampled = np.zeros_like(sizes) if decided.sample_ends else self.groups.sampled_outputs
        last = self.groups.last_inserts_ms
        self.groups, self.history = Groups(owners, sizes, outputs, last, debts, sampled), decided.history

    def _own(self, group: int) -> Numbers:
        """The rows of a group in memory, by stream and value."""
        return self.in_memory[:, self.bounds[group] : self.bounds[group + 1]]

    def _by_group(self, by_value: Numbers) -> Numbers:
        return np.add.reduceat(by_value, self.bounds[:-1])


def run_model(run: Run, settings: MemorySettings, decide: Decide = decide_overflow) -> Outcome:
    """A whole run, and what is left after it."""
    model = Model(run, settings, decide)
    for number, arrived in enumerate(arrivals(run)):
        model.step(number, arrived)
    return model.finish()


def arrivals(run: Run) -> Iterator[Numbers]:
    """For every step, the rows of each stream and value."""
    counts = rows_of_steps(run.load, run.rows)
    offsets = np.cumsum(run.source.values_of_groups) - run.source.values_of_groups
    step_of = [np.repeat(np.arange(len(counts)), counts[:, group]) for group in range(run.source.groups)]
    steps = np.concatenate(step_of)
    order = np.argsort(steps, kind="stable")
    places = np.searchsorted(steps[order], np.arange(len(counts) + 1))
    values = [_values(run, stream, counts.sum(axis=0), offsets)[order] for stream in range(run.source.streams)]
    total = int(run.source.values_of_groups.sum())
    for first, last in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        yield np.stack([np.bincount(rows[first:last], minlength=total) for rows in values])


def _values(run: Run, stream: int, counts: Numbers, offsets: Numbers) -> Numbers:
    """The values of all rows of a stream, group by group, numbered through all groups."""
    numbers = enumerate(counts.tolist())
    return np.concatenate([run.source.sequence(stream, g, 0, count) + offsets[g] for g, count in numbers])
