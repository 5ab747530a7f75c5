"""Runs of the model as the paper's experiments have them, and what is recorded of an outcome."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from braid.control.memory.decisions import Relocate, Spill
from braid.control.memory.settings import MemorySettings
from experiments.claims import Measured
from experiments.dcape.input import Input, Numbers, even_load
from experiments.dcape.model import Outcome, Run
from experiments.dcape.size import Size

UNLIMITED = 1 << 60
POINTS = 60
"""Of a curve in a record."""


def a_run(
    size: Size,
    ratios: Sequence[int],
    minutes: int,
    seed: int,
    owners: Numbers | None = None,
    load: npt.NDArray[np.float64] | None = None,
) -> Run:
    """So many minutes of input; at one unit and with even load unless stated."""
    steps = minutes * 60 // size.step_seconds
    source = Input(size.range_rows, tuple(ratios), seed)
    shares = even_load(size.groups, steps) if load is None else load
    units = np.zeros(size.groups, np.int64) if owners is None else owners
    return Run(source, shares, round(size.rows_a_second * size.step_seconds), 1000 * size.step_seconds, units)


def limit_of(run: Run, share: float) -> int:
    """The memory of a unit, as a share of all that arrives in the run."""
    return int(share * run.all_bytes)


def skewed(groups: int) -> Numbers:
    """Two thirds of the groups at the first of three units."""
    numbers = np.arange(groups)
    return np.where(numbers < 2 * groups // 3, 0, 1 + numbers % 2)


def contiguous(groups: int, shares: Sequence[float]) -> Numbers:
    """These shares of the groups at the units, one after the other, as a query assigns them."""
    ends = np.round(np.cumsum(shares) * groups).astype(np.int64)
    return np.searchsorted(ends, np.arange(groups), side="right")


def even(groups: int, units: int) -> Numbers:
    """Contiguous shares."""
    return np.arange(groups) * units // groups


def recorded(outcome: Outcome, settings: MemorySettings, run: Run) -> Measured:
    """What is recorded of a run: results, what is left, adaptations, the fullest unit, and results over time."""
    used = np.array(outcome.used)
    moves = outcome.kinds(Relocate)
    spread = used.max(axis=1) / np.maximum(1, used.min(axis=1))
    settled = spread[moves[0] + 1 :] if moves else spread
    every = max(1, len(outcome.results) // POINTS)
    return {
        "results": outcome.results[-1],
        "deferred": outcome.deferred,
        "reread": outcome.reread,
        "spills": len(outcome.kinds(Spill)),
        "relocations": len(moves),
        "moved_share": sum(a.size_bytes for _, a in outcome.adaptations if isinstance(a, Relocate)) / run.all_bytes,
        "fullest": float(used.max() / settings.limit_bytes),
        "spread_90": float(np.quantile(settled, 0.9)),
        "spread_most": float(spread[60_000 // run.step_ms :].max()),
        "results_by_time": outcome.results[::every],
    }
