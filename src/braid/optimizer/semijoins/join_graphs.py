"""Join graphs: the streams of a query and which of them have a join condition.

A sequence of joins follows the graph: it never joins a stream without a condition on one joined before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from braid.errors import StrategyError
from braid.optimizer.semijoins.statistics import StreamStatistics

STREAMS_PER_EDGE = 2


@dataclass(frozen=True)
class JoinGraph:
    """The streams of a query and the pairs of them that have a join condition."""

    streams: tuple[StreamStatistics, ...]
    edges: frozenset[frozenset[str]]

    def __post_init__(self) -> None:
        """All streams are connected, and so are those with a common attribute: only then is it equal in all of them."""
        names = [stream.name for stream in self.streams]
        pairs = all(edge <= set(names) and len(edge) == STREAMS_PER_EDGE for edge in self.edges)
        if len(names) < STREAMS_PER_EDGE or len(set(names)) < len(names) or not pairs:
            raise StrategyError(
                f"A join graph connects pairs of distinct streams, but has the streams {', '.join(names) or 'none'} "
                f"and the edges {_described(self.edges)}.",
                hint="Give at least two streams, name each of them once, and only them in edges.",
            )
        for what, members in [("all streams", names), *self._by_attribute()]:
            if not self._is_connected(members):
                raise StrategyError(
                    f"The join conditions do not connect {what}: {', '.join(members)} with {_described(self.edges)}.",
                    hint="Add a condition between them, or give attributes that are not equal different names.",
                )

    def stream(self, name: str) -> StreamStatistics:
        return next(stream for stream in self.streams if stream.name == name)

    def next_streams(self, names: Iterable[str]) -> tuple[str, ...]:
        """The streams that can be joined next: not yet joined, and with a condition on one that is."""
        before = set(names)
        candidates = (stream.name for stream in self.streams if stream.name not in before)
        return tuple(name for name in candidates if any(frozenset((name, other)) in self.edges for other in before))

    def _by_attribute(self) -> list[tuple[str, list[str]]]:
        names = sorted({attribute.name for stream in self.streams for attribute in stream.attributes})
        return [
            (f"the streams with {name}", [s.name for s in self.streams if s.attribute(name) is not None])
            for name in names
        ]

    def _is_connected(self, members: Sequence[str]) -> bool:
        reached, frontier = {members[0]}, [members[0]]
        while frontier:
            name = frontier.pop()
            found = {other for other in members if frozenset((name, other)) in self.edges} - reached
            reached |= found
            frontier += found
        return len(reached) == len(members)


def star(names: Sequence[str]) -> frozenset[frozenset[str]]:
    """Every stream has a condition with the first."""
    return frozenset(frozenset((names[0], name)) for name in names[1:])


def chain(names: Sequence[str]) -> frozenset[frozenset[str]]:
    """Every stream has a condition with the one before it."""
    return frozenset(frozenset(pair) for pair in pairwise(names))


def cycle(names: Sequence[str]) -> frozenset[frozenset[str]]:
    """A chain whose ends have a condition too."""
    return chain((*names, names[0]))


def full(names: Sequence[str]) -> frozenset[frozenset[str]]:
    """Every two streams have a condition."""
    return frozenset(frozenset(pair) for pair in combinations(names, 2))


def _described(edges: frozenset[frozenset[str]]) -> str:
    return ", ".join(sorted(" - ".join(sorted(edge)) for edge in edges)) or "none"
