"""The six one-way joins between two sites: the same results as brute force, and traffic as the formulas say.

The sites are simulated row by row (experiments/semijoin/simulated_sites.py); the formulas know nothing of them.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from braid.optimizer.semijoins.costs import OneWayCost, OneWayJoin, one_way_cost
from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm
from experiments.semijoin.simulated_sites import (
    SITES,
    CopiedEntry,
    Row,
    Setting,
    Sites,
    StoredEntry,
    TwoStepAtSource,
    Update,
    brute_force,
)
from tests.budget import seeds

TICKS = 1000  # a second
# Of the expected value, beside the chance of a sample: the formulas take a fraction of an interval as a number of
# batches, and numbers of a batch as independent of each other.
TOLERANCE = 0.03
# Chance: so many times the square root of the number of things counted, which come in groups of one join value.
DEVIATIONS = 4.0
MEASURED_BATCHES = 1500


@pytest.mark.parametrize("name", SITES)
@pytest.mark.parametrize("seed", seeds(7000, 8))
def test_every_algorithm_gives_the_results_of_brute_force(seed: int, name: str) -> None:
    chance = random.Random(seed)
    setting = Setting(interval=chance.choice([1, 3, 10]), window=chance.choice([0, 1, 7, 10, 45]))
    batches = chance.randint(5, 30)
    streams = [_rows(chance, setting, batches, f"{side}{seed}") for side in "rs"]
    sites: Sites = SITES[name](setting)
    found: Counter[tuple[Row, Row]] = Counter()
    for number in range(batches):
        found.update(sites.step(number, *(_batch(setting, rows, number) for rows in streams)))
    expected = brute_force(setting, *streams)
    assert found == expected
    assert max(expected.values(), default=1) == 1


def _rows(chance: random.Random, setting: Setting, batches: int, name: str) -> list[Row]:
    """Times repeat, values too, and many batches are empty."""
    number, values = chance.randint(0, 6 * batches), chance.choice([1, 3, 20])
    times = sorted(chance.randrange(batches * setting.interval) for _ in range(number))
    return [Row(time, chance.randrange(values), f"{name}-{i}") for i, time in enumerate(times)]


def _batch(setting: Setting, rows: list[Row], number: int) -> list[Row]:
    return [row for row in rows if row.time // setting.interval == number]


@pytest.mark.parametrize("fetched_before", [False, True], ids=["e not fetched", "e fetched"])
def test_the_papers_example_4(fetched_before: bool) -> None:
    """Fig. 5: two rows expire and three arrive; what is shipped, and both sites before and after.

    The text of the example leaves open whether the rows of e were fetched: its shipment is the same either way.
    """
    before = [Row(0, "c", "y"), Row(1, "a", "x"), Row(5, "a", "y"), Row(6, "e", "x")]
    inserted = [Row(10, "d", "x"), Row(11, "a", "z"), Row(12, "f", "w")]
    sites = TwoStepAtSource(Setting(interval=10, window=7))
    sites.step(0, [Row(9, value, None) for value in ("c", "a", *(["e"] if fetched_before else []))], before)
    assert list(sites.entries.values()) == [
        StoredEntry("c", 1, True),
        StoredEntry("a", 2, True),
        StoredEntry("e", 1, fetched_before),
    ]
    assert list(sites.copied.values()) == [
        CopiedEntry("c", 1, before[:1]),
        CopiedEntry("a", 2, before[1:3]),
        CopiedEntry("e", 1, before[3:]) if fetched_before else CopiedEntry("e", 0, None),
    ]
    sites.step(1, [], inserted)
    assert sites.backward.log[-1] == Update(("d", "f"), (0, 2, 1, 1, 1), (inserted[1],))
    assert list(sites.entries.values()) == [
        StoredEntry("a", 2, True),
        StoredEntry("e", 1, fetched_before),
        StoredEntry("d", 1, False),
        StoredEntry("f", 1, False),
    ]
    assert list(sites.copied.values()) == [
        CopiedEntry("a", 2, [before[2], inserted[1]]),
        CopiedEntry("e", 1, before[3:]) if fetched_before else CopiedEntry("e", 0, None),
        CopiedEntry("d"),
        CopiedEntry("f"),
    ]


@dataclass(frozen=True)
class Case:
    """Rates a second, distinct values, and the bytes and ticks of a setting."""

    setting: Setting
    source_rate: float
    stored_rate: float
    source_values: int
    stored_values: int


def random_case(seed: int) -> Case:
    chance = random.Random(seed)
    interval = chance.choice([50, 100, 200])
    setting = Setting(
        interval=interval,
        window=chance.choice([2, 3, 5, 8]) * interval + chance.choice([0, interval // 2]),
        source_row=chance.choice([50, 250, 1000]),
        source_value=chance.choice([4, 16]),
        stored_row=chance.choice([50, 250, 1000]),
        stored_value=chance.choice([4, 16]),
    )
    batch = TICKS / interval
    return Case(
        setting,
        source_rate=chance.choice([0.3, 0.7, 2.0, 8.0]) * batch,
        stored_rate=chance.choice([0.7, 2.0, 8.0]) * batch,
        source_values=chance.choice([3, 20, 100]),
        stored_values=chance.choice([3, 20, 100]),
    )


@dataclass(frozen=True)
class Measured:
    """Bytes and messages of a second, forward and backward, and the mean bytes of the copy."""

    forward_bytes: float
    forward_messages: float
    backward_bytes: float
    backward_messages: float
    copy_bytes: float


def measure(case: Case, name: str, seed: int) -> Measured:
    """Runs the simulated sites until all windows are full, then counts."""
    generator = np.random.default_rng(seed)
    sites: Sites = SITES[name](case.setting)
    warm = 3 * (case.setting.window // case.setting.interval + 2)
    copy_bytes, base = 0.0, (0, 0, 0, 0)
    for number in range(warm + MEASURED_BATCHES):
        if number == warm:
            base = _counted(sites)
        source = _poisson_rows(generator, case.setting, number, case.source_rate, case.source_values)
        stored = _poisson_rows(generator, case.setting, number, case.stored_rate, case.stored_values)
        sites.step(number, source, stored)
        copy_bytes += sites.copy_size() if number >= warm else 0
    seconds = MEASURED_BATCHES * case.setting.interval / TICKS
    rates = [(after - before) / seconds for after, before in zip(_counted(sites), base, strict=True)]
    return Measured(*rates, copy_bytes / MEASURED_BATCHES)


def _counted(sites: Sites) -> tuple[int, int, int, int]:
    return (sites.forward.sent_bytes, sites.forward.messages, sites.backward.sent_bytes, sites.backward.messages)


def _poisson_rows(generator: np.random.Generator, setting: Setting, number: int, rate: float, values: int) -> list[Row]:
    count = generator.poisson(rate * setting.interval / TICKS)
    times = np.sort(generator.integers(setting.interval, size=count)) + number * setting.interval
    keys = generator.integers(values, size=count)
    return [Row(int(time), int(key), None) for time, key in zip(times, keys, strict=True)]


def predict(case: Case, name: str) -> OneWayCost:
    setting = case.setting

    def stream(which: str, rate: float, row: int, value: int, values: int) -> StreamStatistics:
        attribute = JoinAttribute("value", values, value)
        return StreamStatistics(which, which, rate, row, setting.window / TICKS, (attribute,))

    source = stream("source", case.source_rate, setting.source_row, setting.source_value, case.source_values)
    stored = stream("stored", case.stored_rate, setting.stored_row, setting.stored_value, case.stored_values)
    return one_way_cost(Algorithm(name), OneWayJoin(source, stored, setting.interval / TICKS))


@pytest.mark.parametrize("name", SITES)
@pytest.mark.parametrize("seed", seeds(8000, 8))
def test_what_is_counted_is_what_the_formulas_say(seed: int, name: str) -> None:
    compare(random_case(seed), name, seed)


@pytest.mark.parametrize("name", ["SM-S1", "SM-S2"])
def test_a_value_that_stays_is_fetched_once(name: str) -> None:
    """Few probing rows, and stored values that always have rows: SM-S2 sends all rows of a value once it was probed."""
    setting = Setting(100, 500, source_row=250, source_value=4, stored_row=250, stored_value=4)
    case = Case(setting, source_rate=3, stored_rate=40, source_values=20, stored_values=20)
    compare(case, name, 1)
    rows = predict(case, name).backward.bytes_per_second / (case.stored_rate * setting.stored_row)
    assert (rows < 0.15) if name == "SM-S1" else (rows > 0.2)


def compare(case: Case, name: str, seed: int) -> None:
    counted, cost = measure(case, name, seed), predict(case, name)
    seconds, setting = MEASURED_BATCHES * case.setting.interval / TICKS, case.setting
    largest_row = {"forward": setting.source_row, "backward": setting.stored_row}
    for way, traffic in (("forward", cost.forward), ("backward", cost.backward)):
        found_bytes, found_messages = getattr(counted, f"{way}_bytes"), getattr(counted, f"{way}_messages")
        _close(f"{way} messages", found_messages * seconds, traffic.messages_per_second * seconds, 1)
        _close(f"{way} bytes", found_bytes * seconds, traffic.bytes_per_second * seconds, largest_row[way])
    # Copies of following batches have most of their rows in common: as many independent ones as windows fit.
    windows = MEASURED_BATCHES / (setting.window / setting.interval + 1)
    _close("bytes of the copy", counted.copy_bytes * windows, cost.copy_bytes * windows, setting.stored_row)


def _close(what: str, found: float, expected: float, unit: float) -> None:
    chance = DEVIATIONS * unit * (expected / unit) ** 0.5
    assert abs(found - expected) <= TOLERANCE * expected + chance, (what, found, expected)
