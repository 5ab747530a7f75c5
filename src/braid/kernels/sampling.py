"""Which keys are frequent, from a sample of bounded size.

The sampled positions follow the golden ratio: they are about evenly spaced, and aligned with no period of the keys.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys

SAMPLE_ROWS = 4096
# Keys that occur less often in a sample of this size are not distinguishable from chance.
MIN_SHARE = 0.001
MIN_OCCURRENCES = 4
MAX_KEYS = 16
GOLDEN = (5**0.5 - 1) / 2


def sample_places(rows: int, most: int = SAMPLE_ROWS) -> npt.NDArray[np.int64]:
    """All positions, or a sample of them where there are more than `most`."""
    if rows <= most:
        return np.arange(rows)
    places: npt.NDArray[np.int64] = (np.arange(most) * GOLDEN % 1.0 * rows).astype(np.int64)
    return places


def frequent_keys(keys: Keys) -> list[tuple[int, float, int]]:
    """The most frequent keys, most frequent first: key, approximate number of rows, position of one such row."""
    places = sample_places(len(keys))
    values, first, counts = np.unique(keys[places], return_index=True, return_counts=True)
    least = max(MIN_OCCURRENCES, MIN_SHARE * len(places))
    frequent = np.flatnonzero(counts >= least)
    chosen = frequent[np.argsort(-counts[frequent], kind="stable")][:MAX_KEYS]
    scale = len(keys) / max(1, len(places))
    return [(int(values[n]), float(counts[n] * scale), int(places[first[n]])) for n in chosen]
