"""Aligned routing (ATR) as a discrete-event model: a node joins the rows of its segments of the master stream alone.

The segments of the first stream are dealt to the nodes in turn. A row of another stream is copied to every node with a
segment that it can meet; it looks up the first stream's rows there first, so that no pair is compared twice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from experiments.psp.arrivals import Arrivals
from experiments.psp.node_work import NodeWork
from experiments.psp.ring_model import Outcome

Lookups = tuple[int, ...]
"""How many rows each lookup compares a probing row with."""


@dataclass(frozen=True)
class AlignedSetting:
    nodes: int
    segment: float
    window: float
    selectivity: float
    work: NodeWork


def run_aligned(arrivals: Arrivals, setting: AlignedSetting, seed: int) -> Outcome:
    """Every node serves what comes to it first in, first out."""
    rows, chance = arrivals.in_order(), np.random.default_rng(seed)
    times = [time for time, _ in rows]
    outcome = Outcome(times, [0] * len(rows), [0.0] * len(rows), [0.0] * setting.nodes, [0.0] * setting.nodes)
    free, work = [0.0] * setting.nodes, setting.work
    windows = [arrivals.stored(s, times, (0.0, setting.window))[:, 0].tolist() for s in range(len(arrivals.streams))]
    for row, (time, head) in enumerate(rows):
        for node, masters in _visited(arrivals, setting, time, head):
            others = [windows[s][row] for s in range(1, len(windows)) if s != head]
            lookups = (*others,) if head == 0 else (masters, *others)
            service, found = _joined(lookups, setting, chance, outcome)
            free[node] = max(time + work.wire_seconds + work.transfer_seconds(1), free[node]) + service
            outcome.busy[node] += service
            outcome.sending[node] += work.transfer_seconds(1)
            outcome.results[row] += found
            outcome.delays[row] += found * (free[node] - time)
    return outcome


def _visited(arrivals: Arrivals, setting: AlignedSetting, time: float, head: int) -> list[tuple[int, int]]:
    """The nodes that join a new row, each with the rows of the master stream that it meets there."""
    current = math.floor(time / setting.segment)
    if head == 0:
        return [(current % setting.nodes, 0)]
    first = math.floor((time - setting.window) / setting.segment)
    found = []
    for segment in range(first, current + 1):
        since = max(time - setting.window, segment * setting.segment)
        until = min(time, (segment + 1) * setting.segment)
        before = np.searchsorted(arrivals.streams[0], (since, until), side="left")
        found.append((segment % setting.nodes, int(before[1] - before[0])))
    return found


def _joined(
    lookups: Lookups, setting: AlignedSetting, chance: np.random.Generator, outcome: Outcome
) -> tuple[float, int]:
    """The seconds of all lookups at one node, and the results."""
    rows, service = 1, setting.work.row_seconds
    for stored in lookups:
        service += rows * setting.work.comparing(stored)
        outcome.pairs += rows * stored
        rows = int(chance.binomial(rows * stored, setting.selectivity)) if rows * stored else 0
        if not rows:
            break
    return service, rows
