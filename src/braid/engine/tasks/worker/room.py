"""Which open segments a worker keeps under a limit.

Every step looks up most segments, in turn. So a segment that finds no room does not replace one that was used in this
step or the one before: of state that is n times as large as the room, one nth stays open, where the least recently used
would always be the next to be looked up.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
# Steps that a kept segment may be unused before its room is given to another.
UNUSED_STEPS = 1


class Room(Generic[K]):
    """The bytes of what is kept, and the step in which each was last used; the first was unused for longest."""

    def __init__(self) -> None:
        self._kept: dict[K, tuple[int, int]] = {}
        self.size = 0

    def __contains__(self, key: K) -> bool:
        return key in self._kept

    def use(self, key: K, step: int) -> None:
        found = self._kept.pop(key, None)
        if found is not None:
            self._kept[key] = (found[0], step)

    def enter(self, key: K, size: int, step: int, capacity: int) -> tuple[bool, list[K]]:
        """Whether there is room for one more, and what has to leave."""
        left: list[K] = []
        while self.size + size > capacity and self._kept:
            first = next(iter(self._kept))
            if self._kept[first][1] >= step - UNUSED_STEPS:
                return False, left
            left.append(first)
            self.leave(first)
        if self.size + size > capacity:
            return False, left
        self._kept[key] = (size, step)
        self.size += size
        return True, left

    def leave(self, key: K) -> None:
        found = self._kept.pop(key, None)
        self.size -= 0 if found is None else found[0]

    def shrink(self, capacity: int) -> list[K]:
        """What has to leave if there is room for so much only."""
        left: list[K] = []
        while self.size > capacity:
            left.append(next(iter(self._kept)))
            self.leave(left[-1])
        return left
