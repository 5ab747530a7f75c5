"""Adapting state-intensive queries: partition groups, pushes to disk and moves between units."""

from __future__ import annotations

from experiments.dcape.balance import ALTERNATING, SKEWED
from experiments.dcape.cleanups import CLEAN_UPS
from experiments.dcape.costs import MUCH_STATE, READ_THROUGH, READ_THROUGH_ON_SPARK
from experiments.dcape.integrated import ACTIVE, LAZY
from experiments.dcape.moves import MOVES, SKEWED_MOVES
from experiments.dcape.parallel import PARALLEL
from experiments.dcape.pushes import PUSH_SHARES, PUSH_VICTIMS, PUSH_WINDOWED
from experiments.dcape.resident import CGROUP, CGROUP_ON_SPARK, RESIDENT, RESIDENT_ON_SPARK
from experiments.dcape.size import SIZES
from experiments.dcape.together import ACTIVE_PUSHES, PUSHES_AND_MOVES
from experiments.dcape.victims import SPILL_SHARES, SPILL_VICTIMS
from experiments.experiment import Experiment

TITLE = "More state than memory: the paper's claims, measured here"
OPENING = """
The claims of "Adapting State-Intensive Non-Blocking Queries over Distributed Environments" (2005) on Braid's partition
groups. Nearly every figure is here twice. First counted and timed on the engine, with all units in one process, 300
groups, fewer rows than the paper and the clock of the input; what a unit has in memory are the bytes of its groups, as
a query counts them and decides by them. Then modelled: the same controllers decide with the rows and the rate of the
paper, and results are counted by join values. The long run of §6.1 is modelled only. Memory is a share of all rows,
because the paper's rows have no size. Throughput is results so far, as in the paper. What a limit in real bytes holds
and costs is measured beside, as claims of ours.
"""
PAPER = (*(f"Figure {number}" for number in range(1, 22)), "§6.1", "clean-up time of the long run")
DIAGRAM = "A diagram; it has no figures that could be measured."
STEPS = "Steps of a decision or a protocol. `tests/unit/control/memory` has a test for each of its branches."
NOT_MEASURED: dict[str, str] = {
    **{f"Figure {number}": DIAGRAM for number in (*range(1, 6), 8)},
    "Figure 13": "A protocol. `docs/design/2026-11-17-adapting-state.md` says which part of a step each message is.",
    "Figure 18": STEPS,
    "Figure 19": STEPS,
    "clean-up time of the long run": (
        "In six hours of input clean-up has to find thousands of millions of results, one by one. The model counts "
        "them; their time was not measured."
    ),
}
ENGINE: tuple[Experiment, ...] = (
    PARALLEL,
    PUSH_SHARES,
    PUSH_VICTIMS,
    CLEAN_UPS,
    PUSH_WINDOWED,
    MOVES,
    SKEWED_MOVES,
    PUSHES_AND_MOVES,
    ACTIVE_PUSHES,
)
MODELLED: tuple[Experiment, ...] = (SPILL_SHARES, SPILL_VICTIMS, ALTERNATING, SKEWED, LAZY, ACTIVE)
LIMITS: tuple[Experiment, ...] = (
    RESIDENT,
    RESIDENT_ON_SPARK,
    CGROUP,
    CGROUP_ON_SPARK,
    READ_THROUGH,
    READ_THROUGH_ON_SPARK,
    MUCH_STATE,
)
EXPERIMENTS: tuple[Experiment, ...] = (*ENGINE, *LIMITS, *MODELLED)

__all__ = ["ENGINE", "EXPERIMENTS", "LIMITS", "MODELLED", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
