"""Which keys are frequent, from a sample of bounded size.

The places of a sample follow the golden ratio: they lie about evenly, and in step with no period that keys may have.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys

SAMPLE_ROWS = 4096
LEAST_SHARE = 0.001
LEAST_SEEN = 4
MOST_KEYS = 16
GOLDEN = (5**0.5 - 1) / 2


def sample_places(rows: int) -> npt.NDArray[np.int64]:
    """All places, or a sample of them where there are many."""
    if rows <= SAMPLE_ROWS:
        return np.arange(rows)
    places: npt.NDArray[np.int64] = (np.arange(SAMPLE_ROWS) * GOLDEN % 1.0 * rows).astype(np.int64)
    return places


def frequent_keys(keys: Keys) -> list[tuple[int, float, int]]:
    """The most frequent keys with about how many rows have them and where one of these is, the most frequent first."""
    places = sample_places(len(keys))
    values, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
    least = max(LEAST_SEEN, LEAST_SHARE * len(places))
    often = np.flatnonzero(counts >= least)
    chosen = often[np.argsort(-counts[often], kind="stable")][:MOST_KEYS]
    scale = len(keys) / max(1, len(places))
    return [(int(values[n]), float(counts[n] * scale), int(places[first[n]])) for n in chosen]
