"""Cutting sorted runs into slices of their common order, so that a large merge can be done slice by slice.

The rows of all runs have one total order: by key, by number, then by run and place. A slice is an interval of it, so
every row is in exactly one slice. Where a slice begins is a function of the runs alone: steps that write different
slices agree.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from braid.kernels.ordering import SortedIndex
from braid.kernels.rows import Positions

# Slices are even to about one part in this many for each run.
SAMPLES = 4096


def slice_starts(runs: Sequence[SortedIndex], number: int, slices: int) -> list[int]:
    """The place in each run where a slice begins; slice `slices` begins where the runs end."""
    lengths = [run.length for run in runs]
    total = sum(lengths)
    if number <= 0 or total == 0:
        return [0] * len(runs)
    if number >= slices:
        return lengths
    stride = max(1, total // SAMPLES)
    sampled = [np.arange(0, length, stride) for length in lengths]
    run_numbers = np.repeat(np.arange(len(runs)), [len(places) for places in sampled])
    places = np.concatenate(sampled)
    columns: list[Positions] = [places, run_numbers]
    for name in ("numbers", "keys"):
        parts = [getattr(run, name) for run in runs]
        if parts[0] is not None:
            columns.append(np.concatenate([part[at] for part, at in zip(parts, sampled, strict=True)]))
    chosen = np.lexsort(columns)[len(places) * number // slices]
    first_run, place = int(run_numbers[chosen]), int(places[chosen])
    return [
        place if run_number == first_run else _place_in(run, runs[first_run], place, run_number < first_run)
        for run_number, run in enumerate(runs)
    ]


def _place_in(run: SortedIndex, other: SortedIndex, place: int, equal_are_before: bool) -> int:
    """How many rows of a run come before a row of another run."""
    start, stop = 0, run.length
    for column, of_other in ((run.keys, other.keys), (run.numbers, other.numbers)):
        if column is not None and of_other is not None:
            within, value = column[start:stop], of_other[place]
            start, stop = (
                start + int(np.searchsorted(within, value, "left")),
                start + int(np.searchsorted(within, value, "right")),
            )
    return stop if equal_are_before else start
