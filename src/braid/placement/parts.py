"""Parts of a partition group: which combinations of them the steps find, and which the clean-up has to find.

Every spill of a group ends a part; parts are numbered from 0. The rows of a step are looked up in the newest part
alone, so steps find each result whose rows are all of one part. Clean-up finds the others, by the delta rule with parts
in place of steps:

    Delta stream i in part p sees, of a stream before i, the parts up to p; of a stream after i, the parts before p.

By this rule alone the last stream would find results of part p again. So its lookup is divided, by the first stream
that is in an earlier part. Every result between parts is then found once, with its newest part. When the terms of part
p are done, the parts up to p are like one, and the terms of the next part can follow in any later step.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PartRange:
    """The parts from `first` to `last`, both included."""

    first: int
    last: int

    def __contains__(self, part: object) -> bool:
        return isinstance(part, int) and self.first <= part <= self.last


@dataclass(frozen=True)
class PartTerm:
    """Rows of the delta stream in one part, and the parts of every stream that they are combined with."""

    delta: int
    ranges: tuple[PartRange, ...]
    """By stream; that of the delta stream is its own part alone."""

    def has(self, combination: tuple[int, ...]) -> bool:
        """Whether the term finds results whose rows are in these parts, one per stream."""
        return all(part in seen for part, seen in zip(combination, self.ranges, strict=True))


def clean_up_terms(streams: int, part: int) -> tuple[PartTerm, ...]:
    """The terms that find all results whose newest part is `part`, without those of that part alone.

    They are 2·(streams - 1); none for part 0. For two parts and three streams they are the paper's equation 1 without
    what the second part has found by itself.
    """
    if part == 0:
        return ()
    own, until, before = PartRange(part, part), PartRange(0, part), PartRange(0, part - 1)
    last = streams - 1
    terms = [
        PartTerm(delta, (until,) * delta + (own,) + (before,) * (last - delta))  # the delta rule
        for delta in range(last)
    ]
    terms += [
        PartTerm(last, (own,) * earlier + (before,) + (until,) * (last - earlier - 1) + (own,))
        for earlier in range(last)
    ]
    return tuple(terms)


def deferred_combinations(rows: npt.NDArray[np.generic]) -> Counts:
    """How many combinations of rows are deferred: all, without those of one part.

    `rows` has streams and parts as its last two axes. If those are rows of one join value, the combinations are
    results; if of a group, they are what a clean-up without an index would compare. Exact up to 2^53.
    """
    counts = rows.astype(np.float64)
    return np.asarray(counts.sum(axis=-1).prod(axis=-1) - counts.prod(axis=-2).sum(axis=-1))


def term_combinations(term: PartTerm, rows: npt.NDArray[np.generic]) -> Counts:
    """How many of them a term finds; `rows` as above."""
    seen = [rows[..., stream, r.first : r.last + 1].sum(axis=-1) for stream, r in enumerate(term.ranges)]
    return np.asarray(np.stack(seen, axis=-1).astype(np.float64).prod(axis=-1))
