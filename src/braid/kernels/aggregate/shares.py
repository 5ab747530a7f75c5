"""Tables of partial totals in shares by key: each share can be grouped on its own, however large the table is.

A group with many result times or many distinct values can have more bytes than one array may have.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from braid.kernels import sizes
from braid.kernels.hashing import row_hashes


def shares_of(table: pa.Table, keys: list[str]) -> Iterator[pa.Table]:
    """A table in shares of about a piece each, with equal keys in one share; at least one share."""
    count = -(-max(1, table.nbytes) // sizes.piece_bytes())
    if count == 1:
        yield table
        return
    place = row_hashes([table[name] for name in keys], table.num_rows).view(np.uint64) % np.uint64(count)
    for number in np.unique(place):
        yield table.filter(pa.array(place == number))
