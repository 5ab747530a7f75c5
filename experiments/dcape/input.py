"""The input of the paper's §3.4: each join value occurs `ratio` times in a tuple range of every stream.

After n ranges a value has occurred n·ratio times in every stream, so a row of a join of three streams finds (n·ratio)²
results. Every partition group has its own sequence of values, range after range in random order; how many rows of it
come in a step is decided apart from that. So the same rows come in any steps, and a group that gets ten times the load
of another goes through its ranges ten times as fast.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
GroupOf = Callable[[Numbers], Numbers]
"""The partition group of each join value."""


@dataclass(frozen=True)
class Input:
    """`range_rows` rows of a stream are a tuple range; every group has an equal share of them, and its own ratio."""

    range_rows: int
    ratios: tuple[int, ...]
    seed: int = 0
    streams: int = 3

    @property
    def groups(self) -> int:
        return len(self.ratios)

    @property
    def values_of_groups(self) -> Numbers:
        """How many join values each group has. Where the ratio does not divide its rows, its range is shorter."""
        return np.asarray(np.maximum(1, self.range_rows // self.groups // np.array(self.ratios)))

    @property
    def rows_of_groups(self) -> Numbers:
        """The rows of each group in one of its tuple ranges."""
        return np.asarray(self.values_of_groups * np.array(self.ratios))

    def sequence(self, stream: int, group: int, first: int, count: int) -> Numbers:
        """Rows `first` to `first + count` of a group, as places among the join values of the group."""
        length = int(self.rows_of_groups[group])
        ranges = range(first // length, -(-(first + count) // length))
        rows = [np.zeros(0, np.int64), *(_shuffled(self, stream, group, number) for number in ranges)]
        start = first % length
        return np.concatenate(rows)[start : start + count]


@lru_cache(maxsize=4096)
def _shuffled(source: Input, stream: int, group: int, number: int) -> Numbers:
    """One range of a group: each of its values `ratio` times."""
    values = np.repeat(np.arange(source.values_of_groups[group]), source.ratios[group])
    return np.random.default_rng((source.seed, stream, group, number)).permutation(values)


def thirds(groups: int, ratios: Sequence[int]) -> tuple[int, ...]:
    """Equal shares of the groups with each of the ratios, in turn: neighbouring groups have different ones."""
    return tuple(ratios[group % len(ratios)] for group in range(groups))


def group_values(source: Input, group_of: GroupOf) -> list[Numbers]:
    """The join values of each group: the smallest whole numbers that a query assigns to it."""
    wanted = source.values_of_groups
    found: list[Numbers] = [np.zeros(0, np.int64)] * source.groups
    first, size = 0, 4 * int(wanted.sum())
    while any(len(values) < count for values, count in zip(found, wanted.tolist(), strict=True)):
        numbers = np.arange(first, first + size)
        groups = group_of(numbers)
        found = [np.concatenate([values, numbers[groups == group]]) for group, values in enumerate(found)]
        first += size
    return [values[:count] for values, count in zip(found, wanted.tolist(), strict=True)]


def even_load(groups: int, steps: int) -> npt.NDArray[np.float64]:
    """The share of each group in the rows of every step: all alike."""
    return np.full((steps, groups), 1 / groups)


def alternating_load(
    first: npt.NDArray[np.bool_], steps: int, factor: float, first_steps: int, then_steps: int
) -> npt.NDArray[np.float64]:
    """The groups `first` get `factor` times the rows of the others for `first_steps`; then the two change places.

    Every later turn has `then_steps` steps.
    """
    turns = np.where(np.arange(steps) < first_steps, 0, 1 + (np.arange(steps) - first_steps) // then_steps)
    heavy = first[None, :] == (turns % 2 == 0)[:, None]
    weights = np.where(heavy, factor, 1.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def rows_of_steps(load: npt.NDArray[np.float64], rows: int) -> Numbers:
    """How many of a stream's `rows` a step come to each group: what is due so far, rounded, minus what came before."""
    due = np.floor(np.cumsum(load, axis=0) * rows + 0.5).astype(np.int64)
    return np.diff(due, axis=0, prepend=0)


def steps_of(source: Input, counts: Numbers) -> Iterator[list[tuple[Numbers, Numbers]]]:
    """For every step and stream, the group of each row and its place among the group's values."""
    came = np.cumsum(counts, axis=0) - counts
    for firsts, now in zip(came.tolist(), counts.tolist(), strict=True):
        groups = np.repeat(np.arange(source.groups), now)
        chosen = [group for group, count in enumerate(now) if count]
        yield [
            (groups, np.concatenate([groups[:0], *(source.sequence(s, g, firsts[g], now[g]) for g in chosen)]))
            for s in range(source.streams)
        ]
