"""Cutting sorted runs into slices of their common order, so that a large merge can be done slice by slice.

The rows of all runs have one total order: by key, by number, then by run and place. A slice is an interval of it, so
every row is in exactly one slice. Where a slice begins is a function of the runs alone: steps that write different
slices agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from braid.kernels.ordering import SortedIndex
from braid.kernels.rows import Positions

# Slices are even to about one part in this many for each run.
SAMPLES = 4096


def slice_starts(runs: Sequence[SortedIndex], lengths: Sequence[int], number: int, slices: int) -> list[int]:
    """The place in each run where a slice begins; slice `slices` begins where the runs end.

    The runs, which have so many rows, are asked for one after the other: they need not be open all at once.
    """
    total = sum(lengths)
    if number <= 0 or total == 0:
        return [0] * len(runs)
    if number >= slices:
        return list(lengths)
    stride = max(1, total // SAMPLES)
    sampled = [np.arange(0, length, stride) for length in lengths]
    run_numbers = np.repeat(np.arange(len(runs)), [len(places) for places in sampled])
    places = np.concatenate(sampled)
    samples = [(_at(run.numbers, at), _at(run.keys, at)) for run, at in zip(runs, sampled, strict=True)]
    columns: list[Positions] = [places, run_numbers]
    for parts in zip(*samples, strict=True):
        known = [part for part in parts if part is not None]
        if known:
            columns.append(np.concatenate(known))
    chosen = np.lexsort(columns)[len(places) * number // slices]
    first_run, place = int(run_numbers[chosen]), int(places[chosen])
    at = np.array([place])
    values = _at(runs[first_run].keys, at), _at(runs[first_run].numbers, at)
    return [
        place if run_number == first_run else _place_in(run, values, run_number < first_run)
        for run_number, run in enumerate(runs)
    ]


def _at(column: npt.NDArray[Any] | None, places: Positions) -> npt.NDArray[Any] | None:
    """A copy of some values of a column, if there is one."""
    return None if column is None else column[places]


def _place_in(
    run: SortedIndex, values: tuple[npt.NDArray[Any] | None, npt.NDArray[Any] | None], equal_are_before: bool
) -> int:
    """How many rows of a run come before a row of another run, which has this key and number."""
    start, stop = 0, run.length
    for column, of_other in zip((run.keys, run.numbers), values, strict=True):
        if column is not None and of_other is not None:
            within, value = column[start:stop], of_other[0]
            start, stop = (
                start + int(np.searchsorted(within, value, "left")),
                start + int(np.searchsorted(within, value, "right")),
            )
    return stop if equal_are_before else start
