"""Coordinated routing (CTR) as a discrete-event model: segments at some nodes, and hops to a cover of them.

At each hop the probing rows go to nodes that together have all segments in the window, chosen greedily; each segment is
looked up at one of them. The nodes of a hop work side by side, the next hop waits for all of them, and the next row for
the last hop: nothing is interleaved.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from experiments.psp.arrivals import Arrivals
from experiments.psp.node_work import NodeWork
from experiments.psp.ring_model import Outcome

SEGMENT_SECONDS = 1.0
Cover = tuple[tuple[int, ...], ...]
"""The segments that each visited node looks up."""


@dataclass(frozen=True)
class CoordinatedSetting:
    nodes: int
    copies: int
    window: float
    selectivity: float
    work: NodeWork


@lru_cache(maxsize=4096)
def holders(stream: int, segment: int, nodes: int, copies: int) -> tuple[int, ...]:
    """The nodes that store a segment: chosen at random, always the same."""
    chance = np.random.default_rng((stream, segment + 1_000_000, nodes, copies))
    return tuple(int(node) for node in chance.choice(nodes, copies, replace=False))


@lru_cache(maxsize=4096)
def greedy_cover(stream: int, first: int, last: int, nodes: int, copies: int) -> Cover:
    """Nodes that together have the segments from first to last: at each turn the one with the most that are left."""
    left = set(range(first, last + 1))
    stored: dict[int, set[int]] = {node: set() for node in range(nodes)}
    for segment in left:
        for node in holders(stream, segment, nodes, copies):
            stored[node].add(segment)
    found = []
    while left:
        node = max(stored, key=lambda one: len(stored[one] & left))
        found.append(tuple(sorted(stored[node] & left)))
        left -= stored[node]
    return tuple(found)


def run_coordinated(arrivals: Arrivals, setting: CoordinatedSetting, seed: int) -> Outcome:
    """One row after another; `busy` is that of the whole, in which a row waits for the rows before it."""
    rows, chance = arrivals.in_order(), np.random.default_rng(seed)
    times = [time for time, _ in rows]
    outcome = Outcome(times, [0] * len(rows), [0.0] * len(rows), [0.0], [0.0])
    free = 0.0
    for row, (time, head) in enumerate(rows):
        began = clock = max(time, free)
        probing = 1
        for done in range(1, len(arrivals.streams)):
            stream = (head + done) % len(arrivals.streams)
            visits = _visits(arrivals, setting, stream, time)
            is_last = done + 1 == len(arrivals.streams)
            taken, found = [0.0], 0
            for stored in visits:
                taken.append(_hop_seconds(setting.work, probing, stored))
                matched = int(chance.binomial(probing * stored, setting.selectivity)) if stored else 0
                found += matched
                outcome.pairs += probing * stored
                if is_last:
                    outcome.results[row] += matched
                    outcome.delays[row] += matched * (clock + taken[-1] - time)
            clock, probing = clock + max(taken), found
            if not probing:
                break
        free = clock
        outcome.busy[0] += clock - began
    return outcome


def _visits(arrivals: Arrivals, setting: CoordinatedSetting, stream: int, time: float) -> list[int]:
    """The rows that each visited node looks up."""
    first, last = (math.floor(edge / SEGMENT_SECONDS) for edge in (time - setting.window, time))
    edges = np.clip(np.arange(first, last + 2) * SEGMENT_SECONDS, time - setting.window, time)
    counts = np.diff(np.searchsorted(arrivals.streams[stream], edges, side="left"))
    cover = greedy_cover(stream, first, last, setting.nodes, setting.copies)
    return [int(sum(counts[segment - first] for segment in segments)) for segments in cover]


def _hop_seconds(work: NodeWork, probing: int, stored: int) -> float:
    """From sending the probing rows to a node until it has compared them."""
    moving = work.wire_seconds + work.transfer_seconds(probing) + probing * work.row_seconds
    return moving + probing * work.comparing(stored)
