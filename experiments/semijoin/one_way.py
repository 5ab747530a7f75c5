"""One-way joins as the paper has them: new rows of stream s1 look up the window of s2, at another site.

Formulas, simulated sites and the engine say what crosses the link, for the same input: bytes and messages of a second
in each direction. `forward` is from s1 to s2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.control.skew import add_counts
from braid.kernels.sampling import frequent_keys
from braid.optimizer.semijoins.costs import OneWayJoin, one_way_cost
from braid.optimizer.semijoins.framing import ARROW_FRAMING
from braid.optimizer.semijoins.network import Link
from braid.optimizer.semijoins.observed import frequent_values
from braid.optimizer.semijoins.statistics import FrequentValue, JoinAttribute, StreamStatistics
from braid.plan.sites import Algorithm
from braid.state.observed.samples import FrequentKey, KeyCounts
from experiments.claims import Measured
from experiments.semijoin.simulated_sites import SITES, Row, Setting, Sites

NAMES = tuple(algorithm.value for algorithm in Algorithm)
AT_SOURCE = ("SP-S", "SM-S1", "SM-S2")
AT_DESTINATION = ("SP-D", "SM-D1", "SM-D2")
SIMPLE = ("SP-S", "SP-D")
KEY_BYTES = 8
ATTRIBUTE_BYTES = 5
LINK = Link("1 Mbps", "25 ms")
WAYS = ("forward", "backward")
Rows = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]
"""The event times of a batch, in microseconds, and its join values."""
Observed = tuple[tuple[FrequentValue, ...], tuple[FrequentValue, ...]]
"""The frequent values of s1 and of s2."""
# Counts of keys decay by a tenth in every step, so more steps would add little.
OBSERVED_STEPS, OBSERVED_STEP_SECONDS = 10, 1.0


@dataclass(frozen=True)
class Arriving:
    """A stream: its rate, the bytes of a row with time and join value, and its join values 0, 1, …"""

    rows_per_second: float
    row_bytes: int
    values: int


@dataclass(frozen=True)
class OneWay:
    """Both streams, the window of s2, and how often batches are joined. `skew` is the exponent of Zipf's law.

    Rows arrive at random, or at even times where it is `regular`.
    """

    source: Arriving
    stored: Arriving
    window_ms: int
    interval_ms: int = 100
    skew: float = 0.0
    regular: bool = False

    @property
    def warm_batches(self) -> int:
        """Until the window is full."""
        return self.window_ms // self.interval_ms + 2

    @property
    def interval_us(self) -> int:
        return 1000 * self.interval_ms

    def statistics(self, observed: Observed = ((), ())) -> OneWayJoin:
        """What the formulas know: rates, sizes and numbers of values, and the frequent values that were observed."""
        window = self.window_ms / 1000
        source, stored = (
            StreamStatistics(
                name,
                name,
                side.rows_per_second,
                side.row_bytes,
                window,
                (JoinAttribute("key", side.values, KEY_BYTES, frequent),),
            )
            for name, side, frequent in zip(("s1", "s2"), (self.source, self.stored), observed, strict=True)
        )
        return OneWayJoin(source, stored, self.interval_ms / 1000, ARROW_FRAMING)

    def observed(self, seed: int) -> Observed:
        """The frequent values that the engine would know of rows before: it counts keys in every step, and forgets."""
        chance = np.random.default_rng([seed, OBSERVED_STEPS])
        found = []
        for side in (self.source, self.stored):
            known = KeyCounts()
            for _ in range(OBSERVED_STEPS):
                keys = self._values(chance, side, chance.poisson(side.rows_per_second * OBSERVED_STEP_SECONDS))
                counted = tuple(FrequentKey(key, str(key), rows) for key, rows, _ in frequent_keys(keys))
                known = add_counts(known, [KeyCounts(len(keys), counted)])
            found.append(frequent_values(known, side.values))
        return found[0], found[1]

    def batches(self, counted: int, seed: int) -> list[tuple[Rows, Rows]]:
        """The batches that fill the window, and those that are counted."""
        chance = np.random.default_rng(seed)
        total = self.warm_batches + counted
        sides = [[self._rows(chance, side, number) for number in range(total)] for side in (self.source, self.stored)]
        return list(zip(*sides, strict=True))

    def _rows(self, chance: np.random.Generator, side: Arriving, number: int) -> Rows:
        expected = side.rows_per_second * self.interval_ms / 1000
        count = round(expected) if self.regular else chance.poisson(expected)
        spread = chance.integers(0, self.interval_us, count)
        if self.regular:
            spread = np.arange(count) * self.interval_us // count
        times = np.sort(number * self.interval_us + spread)
        return times, self._values(chance, side, count)

    def _values(self, chance: np.random.Generator, side: Arriving, count: int) -> npt.NDArray[np.int64]:
        weights = 1 / np.arange(1, side.values + 1) ** self.skew
        return chance.choice(side.values, size=count, p=weights / weights.sum())


def modelled(setting: OneWay, algorithm: str, observed: Observed = ((), ())) -> Measured:
    """By the formulas; framing apart from the payload."""
    cost = one_way_cost(Algorithm(algorithm), setting.statistics(observed))
    return {
        way: {
            "bytes": one.bytes_per_second,
            "messages": one.messages_per_second,
            "framing": one.framing_per_second,
        }
        for way, one in (("forward", cost.forward), ("backward", cost.backward))
    }


def simulated(setting: OneWay, algorithm: str, batches: Sequence[tuple[Rows, Rows]]) -> Measured:
    """By sites that are simulated row by row."""
    sizes = (setting.source.row_bytes, KEY_BYTES, setting.stored.row_bytes, KEY_BYTES)
    sites: Sites = SITES[algorithm](Setting(setting.interval_us, 1000 * setting.window_ms, *sizes))
    before = _wires(sites)
    for number, (source, stored) in enumerate(batches):
        if number == setting.warm_batches:
            before = _wires(sites)
        sites.step(number, _simulated_rows(source), _simulated_rows(stored))
    seconds = counted_seconds(setting, batches)
    return {
        way: {what: (value - before[way][what]) / seconds for what, value in wire.items()}
        for way, wire in _wires(sites).items()
    }


def counted_seconds(setting: OneWay, batches: Sequence[tuple[Rows, Rows]]) -> float:
    """The event time of the batches after the window is full."""
    return (len(batches) - setting.warm_batches) * setting.interval_ms / 1000


def link_seconds(found: Measured, link: Link = LINK, *parts: str) -> float:
    """The seconds a second that messages occupy the link: their latency, and their bytes; of `parts`, or payload."""
    ways = [found[way] for way in WAYS]
    return sum(link.seconds(sum(one[part] for part in parts or ("bytes",)), one["messages"]) for one in ways)


def total(found: Measured, what: str) -> float:
    """Of both directions."""
    return float(sum(found[way][what] for way in WAYS))


def _wires(sites: Sites) -> dict[str, dict[str, int]]:
    wires = (("forward", sites.forward), ("backward", sites.backward))
    return {way: {"bytes": wire.sent_bytes, "messages": wire.messages} for way, wire in wires}


def _simulated_rows(rows: Rows) -> list[Row]:
    return [Row(time, value, None) for time, value in zip(*(one.tolist() for one in rows), strict=True)]
