"""The paper's settings, and ours where its own cannot be run by any number of its nodes."""

from __future__ import annotations

from dataclasses import dataclass

from braid.optimizer.ring_costs import Lookup, RingWork
from experiments.claims import Measured
from experiments.psp.node_work import NodeWork

RATE = 50.0
WINDOW = 10.0
NODES = 19
WAYS = (3, 5, 7, 9)
SELECTIVITIES = (0.05, 0.1, 0.5)
# Ours: a row finds 1/4, 1 or 3 others in the window of the next stream, not 25 to 250.
REDUCED = (0.0005, 0.002, 0.006)


@dataclass(frozen=True)
class Setting:
    """A join of so many streams, with images of a size, of whose pairs a share matches."""

    ways: int
    image: str
    selectivity: float

    @property
    def name(self) -> str:
        return f"{self.ways}-way, {self.image}, selectivity {self.selectivity:g}"

    @property
    def rows_per_second(self) -> float:
        """Of all streams together."""
        return RATE * self.ways

    def ring_work(self, work: NodeWork, rate: float = RATE) -> RingWork:
        """What the cost model is given: the measured times, a hop with the transfer of a row."""
        lookups = tuple(Lookup(s, rate * WINDOW, self.selectivity, work.pair_seconds()) for s in range(1, self.ways))
        return RingWork(0, lookups, work.row_seconds, work.wire_seconds + work.transfer_seconds(1))


def of_paper(point: Measured) -> bool:
    return point["selectivity"] in SELECTIVITIES


def pairs_of_a_row(setting: Setting) -> float:
    """One lookup after another, each with the rows that the last one found."""
    pairs, rows = 0.0, 1.0
    for _ in range(setting.ways - 1):
        pairs += rows * RATE * WINDOW
        rows *= RATE * WINDOW * setting.selectivity
    return pairs
