"""The paper's model run row by row: rows wait, are looked up one at a time, and leave in the order of their times.

Sync-Filter begins a lookup when the other stream has reached the row, Filter-Order when the row arrives. Under either a
row has left when it was looked up, the other stream has reached it, and all earlier rows have left. Rows carry their
arrival times, so all policies look them up in the same order and with the same work; only when they begin differs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from braid.control.ordering import Ordering
from experiments.in_order.adaptive import Switch, adapt
from experiments.in_order.arrivals import FAST, SLOW, Floats
from experiments.in_order.rows import Rows

Servers = Literal["shared", "apart"]
"""Whether the lookups of both streams share one server, or each stream has its own, as equation 1 counts."""


@dataclass(frozen=True)
class Served:
    """When the lookup of each row began and ended, and when the row left; and what Adaptive decided."""

    rows: Rows
    began: Floats
    done: Floats
    left: Floats
    switches: tuple[Switch, ...] = ()

    def response(self, after: float, streams: tuple[int, ...] = (SLOW, FAST)) -> float:
        """The mean response time, in seconds, of the rows that came when the window was full."""
        arrivals = self.rows.arrivals
        counted = (arrivals.times >= after) & np.isin(arrivals.streams, streams) & np.isfinite(self.left)
        return float((self.left - arrivals.times)[counted].mean())


def serve(rows: Rows, ordering: Ordering, servers: Servers = "shared") -> Served:
    """Run the rows under a policy; Adaptive has one server."""
    switches: tuple[Switch, ...] = ()
    if ordering.policy == "adaptive":
        began, done, switches = adapt(rows, ordering)
    else:
        ready = rows.reached if ordering.policy == "sync-filter" else rows.arrivals.times
        began, done = _queue(rows, ready, servers)
    left = np.maximum.accumulate(np.maximum(done, rows.reached))
    return Served(rows, began, done, left, switches)


def _queue(rows: Rows, ready: Floats, servers: Servers) -> tuple[Floats, Floats]:
    """Begin and end of every lookup, if it begins when it is ready and those before it are done."""
    began, done = np.empty(len(ready)), np.empty(len(ready))
    for queue in _queues(rows, servers):
        # A lookup ends when the last one that found the server free began, plus all work since.
        work = np.cumsum(rows.seconds[queue])
        done[queue] = np.maximum.accumulate(ready[queue] - (work - rows.seconds[queue])) + work
        began[queue] = done[queue] - rows.seconds[queue]
    return began, done


def _queues(rows: Rows, servers: Servers) -> list[NDArray[np.int64]]:
    if servers == "shared":
        return [np.arange(len(rows.seconds))]
    return [np.flatnonzero(rows.arrivals.streams == stream) for stream in (SLOW, FAST)]
