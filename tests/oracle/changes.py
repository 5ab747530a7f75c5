"""What an ordered aggregation emits, by the rule alone: time after time, with every group computed again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Row = tuple[Any, ...]


class Changes:
    """Plays releases of results, whose last value is their time; `left` is what leaves, in order, with its time.

    `values` None: each different group leaves once. `over_us` None: all results count.
    """

    def __init__(
        self, groups: Sequence[int], values: Callable[[list[Row]], Row] | None, over_us: int | None = None
    ) -> None:
        self.left: list[tuple[Row, int]] = []
        self._groups = groups
        self._values = values
        self._over_us = over_us
        self._results: dict[Row, list[Row]] = {}
        self._current: dict[Row, Row | None] = {}

    def release(self, results: Counter[Row]) -> None:
        """Results leave together: the order of their times is that of the changes."""
        for time in sorted({row[-1] for row in results}):
            for row in results.elements():
                if row[-1] == time:
                    group = tuple(row[place] for place in self._groups)
                    self._results.setdefault(group, []).append(row)
            self._look(time)

    def _look(self, time: int) -> None:
        for group, rows in self._results.items():
            live = [row for row in rows if self._over_us is None or time - row[-1] <= self._over_us]
            now = None if not live else () if self._values is None else self._values(live)
            if now != self._current.get(group):
                self._current[group] = now
                values = () if self._values is None else self._values(live)
                self.left.append(((*group, *values), time))
