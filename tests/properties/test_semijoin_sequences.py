"""Sequences of one-way joins between simulated sites: every order and algorithm gives the rows of brute force.

The results of a step are the source rows of the next one, with the time of the head's row. Every step has its own link
and its own copies here; the optimizer's costs of whole sequences are compared with what the links counted.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from braid.optimizer.semijoins.join_graphs import JoinGraph, full
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.semijoins.plans import HeadSequence, PlanStep
from braid.optimizer.semijoins.search import CostModel, sequence_seconds
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm
from experiments.semijoin.simulated_sites import SITES, Row, Setting, Sites
from tests.budget import scaled, seeds

TICKS = 1000  # a second
LINK = Link("1 Mbps", "25 ms")
Streams = dict[str, list[Row]]


class Chain:
    """The steps of one sequence, each between two sites of its own."""

    def __init__(self, head: str, steps: Sequence[tuple[str, str]], settings: Sequence[Setting]) -> None:
        self.head = head
        self.streams = [stream for stream, _ in steps]
        self.sites: list[Sites] = [SITES[name](setting) for (_, name), setting in zip(steps, settings, strict=True)]

    def step(self, number: int, batches: Streams) -> list[Row]:
        """The results of a batch: rows whose payload has one row for each stream, in the order of the sequence."""
        rows = [Row(row.time, row.value, (row,)) for row in batches[self.head]]
        for stream, sites in zip(self.streams, self.sites, strict=True):
            pairs = sites.step(number, rows, batches[stream])
            rows = [Row(left.time, left.value, (*_rows_of(left), right)) for left, right in pairs]
        return rows

    def link_seconds(self) -> float:
        wires = [wire for sites in self.sites for wire in (sites.forward, sites.backward)]
        return sum(LINK.seconds(wire.sent_bytes, wire.messages) for wire in wires)


def _rows_of(row: Row) -> tuple[Row, ...]:
    assert isinstance(row.payload, tuple)
    return row.payload


def by_batch(rows: Sequence[Row], interval: int, number: int) -> list[Row]:
    return [row for row in rows if row.time // interval == number]


@pytest.mark.parametrize("seed", seeds(9300, 25))
def test_every_sequence_gives_the_rows_of_brute_force(seed: int) -> None:
    chance = random.Random(seed)
    interval, batches, names = chance.choice([2, 5]), chance.randint(4, 12), "rstu"[: chance.choice([3, 3, 4])]
    windows = {name: chance.choice([0, 3, 12]) for name in names}
    streams = {name: _any_rows(chance, name, interval * batches) for name in names}
    head, *others = chance.sample(names, len(names))
    steps = [(name, chance.choice(list(SITES))) for name in others]
    sequence = Chain(head, steps, [Setting(interval, windows[name]) for name in others])
    found: Counter[tuple[Row, ...]] = Counter()
    for number in range(batches):
        rows = sequence.step(number, {name: by_batch(streams[name], interval, number) for name in names})
        found.update(_rows_of(row) for row in rows)
    combinations = itertools.product(streams[head], *(streams[name] for name in others))
    assert found == Counter(rows for rows in combinations if _is_result(rows, [windows[name] for name in others])), (
        head,
        steps,
    )


def _is_result(rows: tuple[Row, ...], windows: Sequence[int]) -> bool:
    head, *others = rows
    return all(
        row.value == head.value and 0 <= head.time - row.time <= window
        for row, window in zip(others, windows, strict=True)
    )


def _any_rows(chance: random.Random, name: str, ticks: int) -> list[Row]:
    times = sorted(chance.randrange(ticks) for _ in range(chance.randint(0, 25)))
    return [Row(time, chance.randrange(3), f"{name}{number}") for number, time in enumerate(times)]


def sequence_errors(settings: int, first: int = 0) -> list[float]:
    """Counted over predicted seconds of random sequences of three streams, with values of the paper's table 2."""
    return [_sequence_error(seed) for seed in range(first, first + settings)]


def _sequence_error(seed: int, interval: int = 100, batches: int = 60) -> float:
    chance, generator = random.Random(seed), np.random.default_rng(seed)
    graph = JoinGraph(tuple(_paper_stream(chance, name) for name in "rst"), full("rst"))
    steps = [(name, chance.choice(list(SITES))) for name in chance.sample("st", 2)]
    chain = Chain("r", steps, _settings(graph, steps, interval))
    warm = max(round(stream.window_seconds * TICKS) for stream in graph.streams) // interval + 2
    before = 0.0
    for number in range(warm + batches):
        if number == warm:
            before = chain.link_seconds()
        chain.step(number, {stream.name: _paper_rows(generator, stream, number, interval) for stream in graph.streams})
    counted = (chain.link_seconds() - before) / (batches * interval / TICKS)
    model = CostModel(Network(LINK), interval / TICKS, row_seconds=0.0)
    sequence = HeadSequence("r", tuple(PlanStep(name, Algorithm(algorithm)) for name, algorithm in steps))
    return counted / sequence_seconds(model, graph, sequence)


def _settings(graph: JoinGraph, steps: Sequence[tuple[str, str]], interval: int) -> list[Setting]:
    source_bytes, settings = int(graph.stream("r").row_bytes), []
    for name, _ in steps:
        stored = graph.stream(name)
        window, row_bytes = round(stored.window_seconds * TICKS), int(stored.row_bytes)
        settings.append(Setting(interval, window, source_bytes, 5, row_bytes, 5))
        source_bytes += row_bytes
    return settings


def _paper_stream(chance: random.Random, name: str) -> StreamStatistics:
    """Rates at the lower end: in Python every result is a row."""
    return StreamStatistics(
        name,
        name,
        rows_per_second=chance.choice([10, 25, 50]),
        row_bytes=5 * chance.choice([10, 50, 100, 150, 200]),
        window_seconds=chance.choice([0.4, 0.8, 1.2]),
        attributes=(JoinAttribute("key", chance.choice([10, 25, 50]), 5),),
    )


def _paper_rows(generator: np.random.Generator, stream: StreamStatistics, number: int, interval: int) -> list[Row]:
    count = generator.poisson(stream.rows_per_second * interval / TICKS)
    times = np.sort(generator.integers(interval, size=count)) + number * interval
    values = generator.integers(int(stream.attributes[0].distinct_values), size=count)
    return [Row(int(time), int(value), None) for time, value in zip(times, values, strict=True)]


def test_the_cost_of_a_sequence_is_near_what_is_counted() -> None:
    """Rows of an intermediate result come in groups of one value, which the formulas take as independent."""
    errors = sequence_errors(scaled(20))
    assert np.median(np.abs(np.array(errors) - 1)) < 0.1
    assert np.mean([0.7 < each < 1.3 for each in errors]) >= 0.85
