"""Scalable distributed stream join processing: the join-biclique, beside the join-matrix."""

from __future__ import annotations

from collections.abc import Callable

from experiments.bistream import bandwidth, elasticity, memory
from experiments.bistream.size import SIZES, Size
from experiments.outcome import Outcome

TITLE = "Join-biclique: the paper's claims, measured here"
OPENING = """
The claims of "Scalable Distributed Stream Join Processing" (SIGMOD 2015) on Braid's engine. The paper ran 80 units on
40 servers; here units are counted on one machine, which shows what is stored and sent, not what forty servers would do
in the time. JMx is a matrix of x units, JBx a biclique of x units, JBx-CRy one with y subgroups a side.
"""
EXPERIMENTS: tuple[Callable[[Size], Outcome], ...] = (
    memory.stored,
    memory.volume,
    memory.windows,
    bandwidth.moved,
    bandwidth.updates,
    elasticity.following,
)

__all__ = ["EXPERIMENTS", "OPENING", "SIZES", "TITLE"]
