"""What the lookups of a slot count, for its report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from braid.kernels.rows import Positions


@dataclass
class Comparing:
    """How long lookups compared rows, and of those that earlier steps had admitted: how long, and how many pairs."""

    seconds: float = 0.0
    earlier_seconds: float = 0.0
    earlier_compared: int = 0


class Stored(NamedTuple):
    """Rows and bytes stored at a unit; `copies` of the rows are not primary."""

    rows: int = 0
    size: int = 0
    copies: int = 0


class WorkDone:
    """How much of a slot's lookups is done: of the probing rows times the stored rows that they look up.

    `expected` counts all of it, only when it is needed: counting takes time itself.
    """

    def __init__(self, expected: Callable[[], int]) -> None:
        self._expected = expected
        self._all: int | None = None
        self._done = self._current = 0
        self._part = 0.0

    def begin(self, pairs: int) -> None:
        """A lookup in one segment begins."""
        self._current, self._part = pairs, 0.0

    def compared(self, share: float) -> None:
        """So much of it is done."""
        self._part = max(self._part, share)

    def end(self) -> None:
        self._done, self._current = self._done + self._current, 0

    def share(self) -> float:
        if self._all is None:
            self._all = self._expected()
        return (self._done + min(1.0, self._part) * self._current) / max(1, self._all)


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
