"""Scalable distributed stream join processing: the join-biclique, beside the join-matrix."""

from __future__ import annotations

from experiments.bistream import aggregation, bandwidth, elasticity, latency, memory, throughput, work
from experiments.bistream.size import SIZES
from experiments.experiment import Experiment
from experiments.outcome import adapted

TITLE = "Join-biclique: the paper's claims, measured here"
OPENING = """
The claims of "Scalable Distributed Stream Join Processing" (SIGMOD 2015) on Braid's engine. The paper ran 80 units on
40 servers; here all units share one machine. What is stored, sent and compared is counted, and does not depend on the
machine; rates and lateness are timed on Spark, and do: they are those of units that wait for each other's cores.
JMx is a matrix of x units, JBx a biclique of x units, JBx-CRy one with y subgroups a side.

Not measured: rates when a unit's memory is exceeded (Figure 8 at 80 and 320 GB), since units have no limit of memory
here yet; and CR4 and CR8 on Band, which has no key to cut subgroups by.
"""
PAPER = (
    "Figure 6a",
    "Figure 6b",
    "Figure 7",
    "Figure 8",
    "Figure 9",
    "Figure 10",
    "Figure 11",
    "Figure 12",
    "Figure 13",
    "Figure 14",
    "Figure 15",
    "Figure 16",
    "Figure 17",
    "Figure 18",
    "Figure 19",
    "Table 4",
)
NOT_MEASURED: dict[str, str] = {}
EXPERIMENTS: tuple[Experiment, ...] = (
    adapted(
        "stored",
        "Stored rows and memory of a unit, 16 units, whole history",
        ("Figure 6a",),
        memory.stored,
        timed=False,
    ),
    adapted(
        "volume",
        "Rows that fit the units' memory",
        (
            "Figure 10",
            "Figure 15",
            "Figure 16",
            "Figure 17",
        ),
        memory.volume,
        timed=False,
    ),
    adapted(
        "windows",
        "Longest window in the same memory, Q5",
        (
            "Figure 6b",
            "Table 4",
        ),
        memory.windows,
        timed=False,
    ),
    adapted(
        "moved",
        "Bytes that reach units, four partitions of each stream",
        (
            "Figure 11",
            "Figure 18",
            "Figure 19",
        ),
        bandwidth.moved,
        timed=False,
    ),
    adapted("updates", "Bytes of aggregate updates", ("Figure 14",), bandwidth.updates, timed=False),
    adapted(
        "busiest",
        "The work of the busiest unit",
        (
            "Figure 7",
            "Figure 8",
        ),
        work.busiest,
        timed=False,
    ),
    adapted(
        "following",
        "Units following the load, window of five minutes",
        ("Figure 12",),
        elasticity.following,
        timed=False,
    ),
    adapted(
        "throughput",
        "Rows a second by setting, whole history in memory",
        (
            "Figure 7",
            "Figure 8",
        ),
        throughput.throughput,
        timed=True,
    ),
    adapted("latency", "How late results are, by setting", ("Figure 9",), latency.latency, timed=True),
    adapted(
        "aggregation", "Rows a second with and without aggregation", ("Figure 13",), aggregation.aggregation, timed=True
    ),
)

__all__ = ["EXPERIMENTS", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
