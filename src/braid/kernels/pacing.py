"""How far a lookup is: pieces of pairs that take about as long, each of them reported.

Pieces are bounded by rows and bytes, but a Python function may take seconds for one of them. Where there are functions,
pieces are cut so that each takes a fraction of a second, by the time that the one before took.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

from braid.kernels.checks import Check
from braid.kernels.rows import Pairs

COMPARED: ContextVar[Callable[[float], None]] = ContextVar("compared", default=lambda share: None)
"""Called with the share of a lookup in a segment that is done, after every piece."""

# So that someone who looks once a second sees a change.
PIECE_SECONDS = 0.25
# The first pairs that a worker calls a function with: even at a millisecond each it says something soon.
FIRST_PAIRS = 256
# A worker runs few queries; other functions begin again.
MAX_FUNCTIONS = 64

_pair_seconds: dict[tuple[str, ...], float] = {}
"""What a pair took with these functions, in this process."""


def paced(pairs: Pairs, checks: Sequence[Check]) -> Iterator[Pairs]:
    """The pairs in pieces that take about as long to check, if functions check them; else all at once."""
    functions = tuple(check.conjunct.written for check in checks if check.conjunct.function is not None)
    start = 0
    while functions and start < pairs.length:
        stop = min(pairs.length, start + _pairs_at_once(functions))
        began = time.perf_counter()
        yield pairs if stop - start == pairs.length else pairs.slice(start, stop)
        _remember(functions, stop - start, time.perf_counter() - began)
        start = stop
    if not functions:
        yield pairs


def _pairs_at_once(functions: tuple[str, ...]) -> int:
    seconds = _pair_seconds.get(functions)
    return FIRST_PAIRS if seconds is None else max(1, int(PIECE_SECONDS / max(seconds, 1e-9)))


def _remember(functions: tuple[str, ...], pairs: int, seconds: float) -> None:
    """What a pair of the last piece took; of a few quick ones it is mostly the call."""
    if pairs < FIRST_PAIRS and seconds < PIECE_SECONDS:
        return
    if len(_pair_seconds) >= MAX_FUNCTIONS:
        _pair_seconds.clear()
    _pair_seconds[functions] = seconds / pairs
