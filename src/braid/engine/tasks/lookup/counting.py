"""What the lookups of a slot count, for its report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from braid.kernels.rows import Positions


@dataclass
class Earlier:
    """Lookups among rows that earlier steps had admitted: their duration, and the pairs compared."""

    seconds: float = 0.0
    compared: int = 0


class Stored(NamedTuple):
    """Rows and bytes stored at a unit; `copies` of the rows are not primary."""

    rows: int = 0
    size: int = 0
    copies: int = 0


class Visits:
    """How many of some probing rows have met a segment of a unit."""

    def __init__(self) -> None:
        self._met: npt.NDArray[np.bool_] | None = None
        self.count = 0

    def add(self, rows: Positions | None, of: int) -> None:
        """Rows that meet one more segment, of so many; None: all."""
        if rows is None or self.count == of:
            self.count = of
        elif len(rows):
            self._met = np.zeros(of, bool) if self._met is None else self._met
            self._met[rows] = True
            self.count = int(self._met.sum())
