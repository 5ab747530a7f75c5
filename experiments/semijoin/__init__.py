"""Distributed stream joins with semijoins: the claims of the paper, measured here."""

from __future__ import annotations

from experiments.experiment import Experiment
from experiments.semijoin.choice import CHOICE
from experiments.semijoin.executed import EXECUTED
from experiments.semijoin.flights import FLIGHTS
from experiments.semijoin.optimizers import OPTIMIZERS
from experiments.semijoin.parameters import PARAMETERS
from experiments.semijoin.size import SIZES
from experiments.semijoin.speeds import SPEEDS
from experiments.semijoin.wide import WIDE
from experiments.semijoin.wire import WIRE

TITLE = "Joins between distant sites: the paper's claims, measured here"
OPENING = """
The claims of "Distributed stream join query processing with semijoins" (Tran and Lee, 2010). Each section says what is
counted with the engine, what is simulated row by row and what is modelled by formulas; times of links follow from bytes
and messages wherever they are not called measured. SP-S, SP-D, SM-S1, SM-S2, SM-D1 and SM-D2 are the algorithms of
`braid.Semijoin`: S joins at the site of the new rows, D where the window is stored; SP sends full rows, SM join values
first.
"""
PAPER = (
    *(f"Figure {number}" for number in range(1, 7)),
    *(f"Figure 7{letter}" for letter in "abcdefg"),
    *(f"Figure {number}" for number in range(8, 11)),
    *(f"Table {number}" for number in range(1, 5)),
)
DIAGRAM = "A diagram; it has no figures that could be measured."
NOT_MEASURED: dict[str, str] = {
    "Figure 1": DIAGRAM,
    "Figure 2": DIAGRAM,
    "Figure 3": DIAGRAM,
    "Figure 4": DIAGRAM,
    "Figure 5": "An example of what is sent and kept; `tests/properties/test_semijoin_costs.py` has it literally.",
    "Figure 6": DIAGRAM,
    "Table 1": "Notation.",
    "Table 4": "Notation.",
}
EXPERIMENTS: tuple[Experiment, ...] = (PARAMETERS, CHOICE, OPTIMIZERS, EXECUTED, FLIGHTS, WIDE, WIRE, SPEEDS)

__all__ = ["EXPERIMENTS", "NOT_MEASURED", "OPENING", "PAPER", "SIZES", "TITLE"]
