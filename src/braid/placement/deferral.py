"""Which rows of partition groups a lookup sees while some of their parts are pushed, and what a clean-up looks up.

A block has rows of one part of each of its groups: either all of them are of the newest parts, or it was put apart by
a push (`control/memory/separating.py`). So the part of a group in a block is the number of its pushes up to the block's
last step, also where others of its rows came before a push of other groups. A row of a step sees the blocks that have
the newest part of its group. A clean-up sees the parts that its term says (`parts.py`), counted from the part of the
rows that start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from braid.placement.parts import PartRange, clean_up_terms
from braid.state.observed.groups import Push

Mask = npt.NDArray[np.bool_]
Seen = Literal["own", "before", "until"]
"""Which parts a lookup sees: that of the rows that start, those before it, or both."""
Shown = tuple[Seen, int]
"""What is visible of a block, as the key of a mask: which parts, and the number of pushes before its steps."""
# The terms of any part are alike, so those of the second stand for all.
RANGES: dict[PartRange, Seen] = {PartRange(1, 1): "own", PartRange(0, 0): "before", PartRange(0, 1): "until"}


@dataclass(frozen=True)
class CleanUp:
    """A job of a clean-up: rows of these groups, in blocks whose last step is between these, start their lookups.

    The last stream has `streams - 1` terms, one in each job, of which this is number `term`. The other streams start in
    the first one.
    """

    groups: tuple[int, ...]
    first_step: int
    last_step: int
    term: int

    def starts(self, stream: int, streams: int) -> bool:
        """Whether rows of a stream start in this job."""
        return self.term == 0 or stream == streams - 1

    def seen(self, streams: int, delta_stream: int, stream: int) -> Seen:
        """Which parts of a stream the rows of a delta stream see."""
        last = delta_stream == streams - 1
        terms = clean_up_terms(streams, 1)
        return RANGES[terms[delta_stream + (self.term if last else 0)].ranges[stream]]


class PartView:
    """What the lookups of one job see of `count` partition groups, in a join of so many `streams`."""

    def __init__(self, count: int, pushes: Sequence[Push], streams: int, clean_up: CleanUp | None = None) -> None:
        self.count = count
        self._pushes = sorted(pushes, key=lambda push: push.step)
        self._streams = streams
        self._clean_up = clean_up
        self._numbers: dict[int, npt.NDArray[np.int64]] = {}
        self._masks: dict[Shown, Mask] = {}
        self._newest = self.part_numbers(len(self._pushes))
        self._starting = self._newest
        self._cleaned = np.zeros(count, bool)
        if clean_up is not None:
            self._cleaned[list(clean_up.groups)] = True
            self._starting = self.part_numbers(self.pushes_before(clean_up.first_step))

    def pushes_before(self, step: int) -> int:
        """How many pushes the rows of a step came after; a step's own push comes before its rows."""
        return sum(push.step <= step for push in self._pushes)

    def part_numbers(self, pushes: int) -> npt.NDArray[np.int64]:
        """The part of each group after so many pushes."""
        found = self._numbers.get(pushes)
        if found is None:
            found = self._numbers[pushes] = np.zeros(self.count, np.int64)
            for push in self._pushes[:pushes]:
                found[list(push.groups)] += 1
        return found

    def shown(self, step: int, delta_stream: int, stream: int) -> Shown | None:
        """What rows of a delta stream see of a block of a stream, whose last step is given; None: all groups."""
        if not self._pushes:
            return None
        seen: Seen = "own" if self._clean_up is None else self._clean_up.seen(self._streams, delta_stream, stream)
        key = seen, self.pushes_before(step)
        return None if self.mask(key).all() else key

    def mask(self, shown: Shown) -> Mask:
        """The groups whose rows are visible; in a clean-up only those that are cleaned up."""
        found = self._masks.get(shown)
        if found is None:
            seen, parts, start = shown[0], self.part_numbers(shown[1]), self._starting
            found = parts == start if seen == "own" else parts < start if seen == "before" else parts <= start
            if self._clean_up is not None:
                found &= self._cleaned
            self._masks[shown] = found
        return found

    @property
    def cleaned(self) -> Mask | None:
        """The groups that a clean-up cleans up; None: this is none."""
        return None if self._clean_up is None else self._cleaned

    def starting(self) -> Mask | None:
        """The groups whose rows start; None: all. Rows of a group's first part find nothing in earlier ones."""
        return None if self._clean_up is None else self._cleaned & (self._starting > 0)

    def pushed_at(self, step: int, last_step: int) -> Mask:
        """The groups that were pushed before the rows of a step, and were looked up in a block with that last step."""
        chosen = np.zeros(self.count, bool)
        for push in self._pushes:
            if push.step == step > last_step:
                chosen[list(push.groups)] = True
        last: Mask = self.part_numbers(self.pushes_before(last_step)) == self._newest - 1
        return chosen & last

    def in_memory(self, step: int) -> Mask | None:
        """The groups whose newest part a block has, or whose parts are joined by now; None: all.

        `step` is the block's last one.
        """
        if not self._pushes:
            return None
        found: Mask = self.part_numbers(self.pushes_before(step)) == self._newest
        return found | self._cleaned
