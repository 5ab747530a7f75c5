"""Which groups a unit spills: inactive ones, then by productivity, until a share of its bytes is reached.

The productivity of a group is its bytes divided by its results, P_s / P_o: a large value means few results. Every
order is total, so the same numbers always give the same groups.
"""

from __future__ import annotations

import numpy as np

from braid.control.memory.decisions import Spill
from braid.control.memory.groups import Groups, MemoryState, Numbers
from braid.control.memory.settings import MemorySettings
from braid.kernels.keys import combine


def full_units(settings: MemorySettings, state: MemoryState) -> Numbers:
    """The units that use more than their share `spill_at`."""
    return np.flatnonzero(state.used_bytes > settings.spill_bytes)


def choose_spill(
    settings: MemorySettings, state: MemoryState, unit: int, reason: str, at_most_bytes: int | None = None
) -> Spill | None:
    """The groups that a unit spills; None if it has none in memory, or the first has more than `at_most_bytes`.

    They reach `spill_share` of the bytes of the unit's groups, the last one may exceed it. With `at_most_bytes` none
    exceeds that.
    """
    order = spill_order(settings, state, unit)
    totals = np.cumsum(state.groups.sizes[order])
    wanted = settings.spill_share * float(totals[-1]) if len(order) else 0.0
    count = min(int(np.searchsorted(totals, wanted)) + 1, len(order))
    if at_most_bytes is not None:
        count = min(count, int(np.searchsorted(totals, at_most_bytes, side="right")))
    if count == 0:
        return None
    return Spill(unit, tuple(np.sort(order[:count]).tolist()), int(totals[count - 1]), reason)


def spill_order(settings: MemorySettings, state: MemoryState, unit: int) -> Numbers:
    """The groups of a unit with bytes in memory, first victim first."""
    groups = state.groups
    own = groups.at(unit)
    ranked = _by_victims(settings, groups, own, state.step)
    if settings.inactive_after_ms is None:
        return ranked
    since = groups.last_inserts_ms[ranked]
    inactive = state.now_ms - since > settings.inactive_after_ms
    # Those inactive for longest come first; a stable sort keeps the others in their order.
    return ranked[np.argsort(np.where(inactive, since, np.iinfo(np.int64).max), kind="stable")]


def productive_order(groups: Groups, chosen: Numbers) -> Numbers:
    """The groups with many results for their bytes first; without results last, the largest of them at the end."""
    sizes, outputs = groups.sizes[chosen], groups.outputs[chosen]
    ratios = np.divide(sizes, outputs, out=np.full(len(chosen), np.inf), where=outputs > 0)
    return chosen[np.lexsort((chosen, sizes, ratios))]


def _by_victims(settings: MemorySettings, groups: Groups, own: Numbers, step: int) -> Numbers:
    if settings.victims == "random":
        return own[np.argsort(_chances(settings.seed, step, own), kind="stable")]
    order = productive_order(groups, own)
    return order if settings.victims == "productive" else order[::-1]


def _chances(seed: int, step: int, own: Numbers) -> Numbers:
    """A number for each group that depends on the seed, the step and the group alone, in every version of NumPy."""
    return combine([np.full(len(own), seed, np.int64), np.full(len(own), step, np.int64), own.astype(np.int64)])
