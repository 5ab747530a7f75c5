"""What happens to a row under any policy: when it arrives, when the other stream reaches it, and its work."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from experiments.in_order.arrivals import FAST, SLOW, Arrivals, Floats

NEVER = float("inf")


@dataclass(frozen=True)
class Rows:
    """All rows by time; `seconds` is the time a lookup takes, `reached` when the other stream has come as far."""

    arrivals: Arrivals
    reached: Floats
    compared: Floats
    seconds: Floats


def prepare(arrivals: Arrivals, window: float, cost: float) -> Rows:
    """A row is compared with the earlier rows of the other stream within the window."""
    reached, compared = np.empty(len(arrivals.times)), np.empty(len(arrivals.times))
    for stream, other in ((SLOW, FAST), (FAST, SLOW)):
        mine, times, others = arrivals.streams == stream, arrivals.of(stream), arrivals.of(other)
        compared[mine] = np.searchsorted(others, times) - np.searchsorted(others, times - window)
        reached[mine] = np.append(others, NEVER)[np.searchsorted(others, times)]
    return Rows(arrivals, reached, compared, compared * cost)
