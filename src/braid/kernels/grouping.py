"""Partition groups: ranges of the hashes of the key that all streams share, and keys that are sorted by group first.

Equal keys have equal hashes, so all rows that may join each other by the common key are in one group. Rows that are
sorted by these keys have every group in one range.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys, combine, scramble, stored_keys
from braid.kernels.rows import Rows
from braid.plan.join import Index, JoinPlan

# Signed numbers sort like unsigned ones if their first bit is inverted.
FIRST_BIT = np.uint64(1 << 63)
HALF = np.uint64(32)
LOWER_HALF = np.uint64((1 << 32) - 1)


def key_hashes(keys: Keys) -> Keys:
    """The hashes of keys, a bijection; as signed numbers they are in the order of the groups."""
    return (scramble(keys).view(np.uint64) ^ FIRST_BIT).view(np.int64)


def groups_of_hashes(hashes: Keys, count: int) -> npt.NDArray[np.int64]:
    """The group of each hash, among `count` groups of even ranges. Only the upper half of a hash counts."""
    words = (hashes.view(np.uint64) ^ FIRST_BIT) >> HALF
    return ((words * np.uint64(count)) >> HALF).astype(np.int64)


def groups_of_keys(keys: Keys, count: int) -> npt.NDArray[np.int64]:
    """The group of each common key."""
    return groups_of_hashes(key_hashes(keys), count)


def by_group(keys: Sequence[Keys], common: int) -> Keys:
    """One key combined from several, in the order of the groups; the one at place `common` is the common part.

    Of a single key it is the hash. Of several, the upper half is of the common part's hash, the lower half of all.
    """
    hashes = key_hashes(keys[common])
    if len(keys) == 1:
        return hashes
    upper = hashes.view(np.uint64) & ~LOWER_HALF
    return (upper | (combine(keys).view(np.uint64) & LOWER_HALF)).view(np.int64)


def index_keys_by_group(plan: JoinPlan, index: Index, number: int, rows: Rows) -> Keys:
    """The keys that rows in groups are sorted by in an index, each of which has the common part."""
    keys = [stored_keys(plan, part, number, rows) for part in index.parts]
    return by_group(keys, common_place(plan, index.parts))


def common_place(plan: JoinPlan, parts: Sequence[int]) -> int:
    """The place of the common part among the parts of an index."""
    if plan.common_part is None:
        raise ValueError("partition groups need a key part that every stream has")
    return parts.index(plan.common_part)
