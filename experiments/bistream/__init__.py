"""Scalable distributed stream join processing: the join-biclique, beside the join-matrix."""

from __future__ import annotations

from collections.abc import Callable

from experiments.bistream import aggregation, bandwidth, elasticity, latency, memory, throughput, work
from experiments.bistream.size import SIZES, Size
from experiments.outcome import Outcome

TITLE = "Join-biclique: the paper's claims, measured here"
OPENING = """
The claims of "Scalable Distributed Stream Join Processing" (SIGMOD 2015) on Braid's engine. The paper ran 80 units on
40 servers; here all units share one machine. What is stored, sent and compared is counted, and does not depend on the
machine; rates and lateness are timed on Spark, and do: they are those of units that wait for each other's cores.
JMx is a matrix of x units, JBx a biclique of x units, JBx-CRy one with y subgroups a side.

Not measured: rates when a unit's memory is exceeded (Figure 8 at 80 and 320 GB), since units have no limit of memory
here yet; and CR4 and CR8 on Band, which has no key to cut subgroups by.
"""
Experiment = Callable[[Size], Outcome]

COUNTED: tuple[Experiment, ...] = (
    memory.stored,
    memory.volume,
    memory.windows,
    bandwidth.moved,
    bandwidth.updates,
    work.busiest,
    elasticity.following,
)
TIMED: tuple[Experiment, ...] = (throughput.throughput, latency.latency, aggregation.aggregation)
EXPERIMENTS = COUNTED + TIMED

__all__ = ["COUNTED", "EXPERIMENTS", "OPENING", "SIZES", "TIMED", "TITLE"]
