"""The paper's ring simulated row by row: nodes with queues, states that rows move through, and marks of the end.

Nodes run in any order that a seed chooses; only the queues between them are first in, first out. Nothing here is taken
from the cost model: pairs and visits are counted as they happen.
"""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field

Row = tuple[int, int, int]
"""Stream, time, value."""
Matches = Callable[[Row, Row], bool]


@dataclass(frozen=True)
class Message:
    """`build`: a row to insert. `probe`: a new row. `found`: rows joined so far, which node `origin` made."""

    kind: str
    rows: tuple[Row, ...]
    origin: int = -1
    ends: bool = False


@dataclass
class Node:
    """The slices of one node: by stream, rows whose age is from `since` to below `until`."""

    since: tuple[int, ...]
    until: tuple[int, ...]
    states: list[list[Row]]
    queue: deque[Message] = field(default_factory=deque)


@dataclass
class Ring:
    """`bounds` has, by stream, the ages at which slices meet: 0, ..., the window."""

    bounds: tuple[tuple[int, ...], ...]
    orders: tuple[tuple[int, ...], ...]
    matches: Matches
    chance: random.Random
    results: Counter[tuple[Row, ...]] = field(default_factory=Counter)
    pairs: int = 0
    visits: int = 0
    checks: list[tuple[int, Row, list[list[Row]], list[list[Row]]]] = field(default_factory=list)
    at_head: list[Message] = field(default_factory=list)
    ends_at_head: int = 0

    def __post_init__(self) -> None:
        streams = range(len(self.bounds))
        self.nodes = [
            Node(
                tuple(self.bounds[s][n] for s in streams),
                tuple(self.bounds[s][n + 1] for s in streams),
                [[] for _ in streams],
            )
            for n in range(len(self.bounds[0]) - 1)
        ]

    @property
    def idle(self) -> bool:
        return not any(node.queue for node in self.nodes)

    def insert(self, row: Row) -> None:
        """Run one new row until the head has processed the last end mark of its cycle."""
        self.ends_at_head, self.at_head = 0, []
        self.nodes[0].queue.append(Message("build", (row,)))
        self.nodes[0].queue.append(Message("probe", (row,)))
        while self.ends_at_head < len(self.bounds) - 1:
            number = self.chance.choice([n for n, node in enumerate(self.nodes) if node.queue])
            self._process(number, self.nodes[number].queue.popleft())

    def _process(self, number: int, message: Message) -> None:
        if message.kind == "build":
            self.nodes[number].states[message.rows[0][0]].append(message.rows[0])
        elif message.kind == "probe":
            self._purge(number, message.rows[0])
            if number < len(self.nodes) - 1:
                self._send(number, message)
            self._probe(number, message, marks=number == 0)
        else:
            if number == 0:
                self.at_head.append(message)
                self.ends_at_head += message.ends and message.origin == 0
            if message.origin != number:
                self._send(number, message)
            self._probe(number, message, marks=number == 0 and message.ends and message.origin == number)

    def _purge(self, number: int, row: Row) -> None:
        node = self.nodes[number]
        before = [list(state) for state in node.states]
        for stream, state in enumerate(node.states):
            old = [one for one in state if row[1] - one[1] >= node.until[stream]]
            node.states[stream] = [one for one in state if row[1] - one[1] < node.until[stream]]
            if number < len(self.nodes) - 1:
                self.nodes[number + 1].queue.extend(Message("build", (one,)) for one in old)
        self.checks.append((number, row, before, [list(state) for state in node.states]))

    def _probe(self, number: int, message: Message, *, marks: bool) -> None:
        """Compare with the next stream's slice; a mark of the end goes round although it has found nothing."""
        found: list[Message] = []
        head = message.rows[0][0] if message.rows else -1
        order = self.orders[head] if message.rows else ()
        if message.rows and len(message.rows) < len(self.bounds):
            self.visits += 1
            for row in self.nodes[number].states[order[len(message.rows) - 1]]:
                self.pairs += 1
                if self.matches(message.rows[-1], row):
                    found.append(Message("found", (*message.rows, row), number))
        whole = [one for one in found if len(one.rows) == len(self.bounds)]
        self.results.update(tuple(sorted(one.rows)) for one in whole)
        parts = [one for one in found if len(one.rows) < len(self.bounds)]
        if marks and self.ends_at_head < len(self.bounds) - 1:
            last = parts.pop() if parts else Message("found", (), number)
            parts.append(Message("found", last.rows, number, ends=True))
        for one in parts:
            self._send(number, one)

    def _send(self, number: int, message: Message) -> None:
        self.nodes[(number + 1) % len(self.nodes)].queue.append(message)


def brute_force(
    rows: list[Row], windows: tuple[int, ...], orders: tuple[tuple[int, ...], ...], matches: Matches
) -> Counter[tuple[Row, ...]]:
    """All results: combinations with the newest row, whose streams match along the newest row's sequence."""
    found: Counter[tuple[Row, ...]] = Counter()
    for place, newest in enumerate(rows):
        joined: list[tuple[Row, ...]] = [(newest,)]
        for stream in orders[newest[0]]:
            earlier = [one for one in rows[:place] if one[0] == stream and newest[1] - one[1] < windows[stream]]
            joined = [(*some, one) for some in joined for one in earlier if matches(some[-1], one)]
        found.update(tuple(sorted(some)) for some in joined)
    return found
