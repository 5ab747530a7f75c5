"""The paper's ring as a discrete-event model: rows come at random, nodes and links serve first in, first out.

A new row goes from the head to the tail; what a node finds goes once round the ring and ends where it was found. A node
sends a message on before it compares it with its slice of the next stream. What comparing, sending and receiving take
is replayed as it was measured. Nothing here is taken from the cost model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

import numpy as np

from experiments.psp.arrivals import Arrivals
from experiments.psp.node_work import NodeWork

SATURATED = 0.97


@dataclass(frozen=True)
class Phase:
    """From a time on, a ring of so many nodes, with slices of equal lengths or of equal numbers of rows.

    Nodes do nothing else for `pause` seconds, while rows are moved to their new nodes.
    """

    nodes: int
    slicing: Literal["time", "count"] = "time"
    since: float = 0.0
    pause: float = 0.0

    def stored(self, arrivals: Arrivals, stream: int, times: Sequence[float], window: float) -> list[list[int]]:
        """For each time, the rows of a stream at each node."""
        if self.slicing == "time":
            ages = [window * node / self.nodes for node in range(self.nodes + 1)]
            counts: list[list[int]] = arrivals.stored(stream, times, ages).tolist()
            return counts
        total = arrivals.stored(stream, times, (0.0, window))
        even: list[list[int]] = ((total + np.arange(self.nodes)[None, :]) // self.nodes).tolist()
        return even


@dataclass(frozen=True)
class RingSetting:
    """Streams of equal windows and selectivities, and the rings one after another."""

    selectivity: float
    window: float
    work: NodeWork
    phases: tuple[Phase, ...]

    @property
    def nodes(self) -> int:
        return max(phase.nodes for phase in self.phases)

    @staticmethod
    def even(nodes: int, window: float, selectivity: float, work: NodeWork) -> RingSetting:
        return RingSetting(selectivity, window, work, (Phase(nodes),))


@dataclass
class Outcome:
    """By row: when it came, its results and the sum of their delays; and how long each node and link was busy."""

    came: list[float] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    delays: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    sending: list[float] = field(default_factory=list)
    pairs: int = 0

    def latency(self, since: float = 0.0, until: float = float("inf")) -> float | None:
        """The mean delay of the results of rows that came in a time; None where there are none."""
        chosen = [row for row, came in enumerate(self.came) if since <= came < until]
        results = sum(self.results[row] for row in chosen)
        return sum(self.delays[row] for row in chosen) / results if results else None

    @property
    def load(self) -> float:
        """The share of the time in which rows came that the busiest node or link needs."""
        span = self.came[-1] - self.came[0]
        return max(*self.busy, *self.sending) / span

    @property
    def is_saturated(self) -> bool:
        return self.load >= SATURATED


def run_ring(arrivals: Arrivals, setting: RingSetting, seed: int) -> Outcome:
    return Ring(arrivals, setting, seed).run()


Message = tuple[float, int, int, int, int, int, int]
"""Time, number, node, row, lookups that are done, visits that are left, rows in it."""


class Ring:
    """One run. Messages are processed in the order of their arrival, so a node's queue is the time it is free at."""

    def __init__(self, arrivals: Arrivals, setting: RingSetting, seed: int) -> None:
        self._setting = setting
        self._rows = arrivals.in_order()
        self._streams = len(arrivals.streams)
        times = [time for time, _ in self._rows]
        self._lengths: list[int] = []
        self._stored: list[list[list[int]]] = [[] for _ in range(self._streams)]
        ends = [*(phase.since for phase in setting.phases[1:]), float("inf")]
        for phase, end in zip(setting.phases, ends, strict=True):
            own = [time for time in times if phase.since <= time < end]
            self._lengths += [phase.nodes] * len(own)
            for stream, stored in enumerate(self._stored):
                stored += phase.stored(arrivals, stream, own, setting.window)
        self._pauses = [phase for phase in setting.phases if phase.pause]
        self._chance = np.random.default_rng(seed)
        self._free = [0.0] * setting.nodes
        self._link_free = [0.0] * setting.nodes
        self._events: list[Message] = []
        self._number = 0
        self._outcome = Outcome(times, [0] * len(times), [0.0] * len(times), [0.0] * setting.nodes)
        self._outcome.sending = [0.0] * setting.nodes

    def run(self) -> Outcome:
        for row, (time, _) in enumerate(self._rows):
            self._push(time, 0, row, 0, self._lengths[row], 1)
        while self._events:
            self._process(*heappop(self._events))
        return self._outcome

    def _push(self, time: float, node: int, row: int, done: int, left: int, count: int) -> None:
        self._number += 1
        heappush(self._events, (time, self._number, node, row, done, left, count))

    def _process(self, time: float, _: int, node: int, row: int, done: int, left: int, count: int) -> None:
        came, head = self._rows[row]
        stream = (head + 1 + done) % self._streams
        stored = self._stored[stream][row][node]
        work, outcome = self._setting.work, self._outcome
        sending = count * work.row_seconds
        service = sending + count * work.comparing(stored)
        if self._pauses and time >= self._pauses[0].since:
            self._pause(self._pauses.pop(0))
        began = max(time, self._free[node])
        ended = self._free[node] = began + service
        outcome.busy[node] += service
        outcome.pairs += count * stored
        if left > 1:
            self._send(began + sending, node, row, done, left - 1, count)
        found = int(self._chance.binomial(count * stored, self._setting.selectivity)) if stored else 0
        if not found:
            return
        if done + 2 == self._streams:
            outcome.results[row] += found
            outcome.delays[row] += found * (ended - came)
        else:
            self._send(ended, node, row, done + 1, self._lengths[row], found)

    def _pause(self, phase: Phase) -> None:
        self._free = [max(free, phase.since) + phase.pause for free in self._free]

    def _send(self, ready: float, node: int, row: int, done: int, left: int, count: int) -> None:
        """To the next node, over a link that carries one message after another; a ring of one node has no link."""
        nodes, work = self._lengths[row], self._setting.work
        if nodes == 1:
            self._push(ready, 0, row, done, left, count)
            return
        began = max(ready, self._link_free[node])
        transfer = work.transfer_seconds(count)
        self._link_free[node] = began + transfer
        self._outcome.sending[node] += transfer
        self._push(began + transfer + work.wire_seconds, (node + 1) % nodes, row, done, left, count)


def mean_latency(outcomes: Sequence[Outcome]) -> float | None:
    """Over all results of all runs."""
    results = sum(sum(one.results) for one in outcomes)
    return sum(sum(one.delays) for one in outcomes) / results if results else None
