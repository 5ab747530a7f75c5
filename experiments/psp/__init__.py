"""Scalable stream joins with expensive predicates: time slices on a ring of nodes, beside two kinds of copies."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.psp.adaptation import ADAPTATION
from experiments.psp.baselines import BASELINES
from experiments.psp.distribution import DISTRIBUTION
from experiments.psp.interleaved import INTERLEAVING
from experiments.psp.lengths import LENGTHS
from experiments.psp.on_spark import ON_SPARK
from experiments.psp.size import SIZES
from experiments.psp.traffic import TRAFFIC
from experiments.psp.ways import RUN_WAYS

TITLE = "Time-sliced joins: the paper's claims, measured here"
OPENING = """
The claims of "Scalable Stream Join Processing with Expensive Predicates: Workload Distribution and Adaptation by
Time-Slicing" (EDBT 2009). Response times on 4 to 19 nodes are modelled: a discrete-event model runs the paper's
settings (500 rows in a window of each stream) with the time that comparing two images takes here. State, routing, bytes
and pairs are counted with the engine in one process, and steps are timed on Spark, with fewer rows and matches, since
the paper's own would not end; each section says which it is. The ring is `braid.TimeSliced`, aligned routing (ATR) is
`braid.AlignedRouting`, and coordinated routing (CTR) is `braid.CoordinatedRouting`.
"""
PAPER = (
    *(f"Figure {number}" for number in range(1, 8)),
    *(f"Figure 8{letter}" for letter in "abcdefgh"),
    "§4.3",
    "§4.4",
    "§8.2",
)
DIAGRAM = "A diagram; it has no figures that could be measured."
NOT_MEASURED: dict[str, str] = {
    "Figure 1": DIAGRAM,
    "Figure 2": DIAGRAM,
    "Figure 3": "The steps of the algorithm. `tests/properties/ring.py` runs them, and tests hold its properties.",
    "Figure 4": DIAGRAM,
    "Figure 5": "The steps of interleaved processing, without figures.",
    "Figure 6": DIAGRAM,
    "Figure 7, adaptation cost": "It has no figures: the paper calls it unknown for the two others.",
}
EXPERIMENTS: tuple[Experiment, ...] = (
    LENGTHS,
    BASELINES,
    ON_SPARK,
    INTERLEAVING,
    ADAPTATION,
    DISTRIBUTION,
    TRAFFIC,
    RUN_WAYS,
)

__all__ = ["EXPERIMENTS", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
