"""The cost of a join by time slices on a ring of units, in closed form: work of a row, rate, latency, bandwidth.

The work of a new row is that of its sequence of lookups. In the paper's equation 1 the selectivity of a lookup is
applied one lookup too early; here the pairs of a lookup are counted before its selectivity, from which equation 2
follows. In equation 3 the ring of N units serves N rows at a time, from which equation 4 follows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Lookup:
    """One lookup of a sequence: a probing row is compared with `stored_rows` rows of `stream`.

    `stored_rows` is the rate times the window (lambda W), `selectivity` the share of the pairs that match, and
    `pair_seconds` what comparing a pair takes (T_j).
    """

    stream: int
    stored_rows: float
    selectivity: float
    pair_seconds: float

    @property
    def matches(self) -> float:
        """The rows that a probing row finds."""
        return self.stored_rows * self.selectivity


@dataclass(frozen=True)
class RingWork:
    """The sequence of lookups of a new row of stream `head`, and the seconds of all that is not comparing.

    `insert_seconds` and `purge_seconds` are those of a row in a state (T_i, T_p), `send_seconds` those of sending and
    receiving a row (T_s), `hop_seconds` the latency from a unit to the next one (T_n).
    """

    head: int
    lookups: tuple[Lookup, ...]
    send_seconds: float
    hop_seconds: float
    insert_seconds: float = 0.0
    purge_seconds: float = 0.0
    rows_per_second: float = 1.0

    @property
    def streams(self) -> int:
        return len(self.lookups) + 1

    def of_rows(self, rows: float) -> RingWork:
        """The same for rows that go round the ring together: `rows` of them share each hop."""
        return replace(self, hop_seconds=self.hop_seconds / rows)


def probing_rows(work: RingWork) -> tuple[float, ...]:
    """The rows that each lookup begins with: the new row, then what the lookup before found."""
    rows, found = [], 1.0
    for lookup in work.lookups:
        rows.append(found)
        found *= lookup.matches
    return tuple(rows)


def compared_pairs(work: RingWork) -> float:
    """The pairs of all lookups of a new row."""
    return sum(rows * lookup.stored_rows for rows, lookup in zip(probing_rows(work), work.lookups, strict=True))


def join_seconds(work: RingWork) -> float:
    """The time of comparing the pairs of a new row."""
    return sum(
        rows * lookup.stored_rows * lookup.pair_seconds
        for rows, lookup in zip(probing_rows(work), work.lookups, strict=True)
    )


def central_seconds(work: RingWork) -> float:
    """Equation 1, L_C: the work of a new row at one unit that stores everything."""
    return work.insert_seconds + work.purge_seconds + join_seconds(work)


def ring_seconds(work: RingWork, units: int) -> float:
    """Equation 1, L_PSP: the work of a new row on a ring, in which every probing row is sent to every unit."""
    return central_seconds(work) + work.send_seconds * units * sum(probing_rows(work))


def ring_seconds_by_ratio(work: RingWork, units: int) -> float:
    """Equation 2: L_PSP of equal lookups, without the sum over rows: L_C (1 + T_s N / (lambda W T_j)).

    Exact but for the sending that equation 2 adds for inserting and purging.
    """
    first = work.lookups[0]
    return central_seconds(work) * (1 + work.send_seconds * units / (first.stored_rows * first.pair_seconds))


def service_rate(work: RingWork, units: int) -> float:
    """Equation 3: the rows a second that a busy ring can serve, N / L_PSP."""
    return units / ring_seconds(work, units)


def output_ratio(work: RingWork, units: int) -> float:
    """Equation 4: the output of a ring over that of one unit that stores everything, O_PSP / O_S."""
    return central_seconds(work) * service_rate(work, units)


def latency_seconds(work: RingWork, units: int | Sequence[int]) -> float:
    """Equation 5: the mean time from a new row to its results, if no row waits for another.

    `units` is the length of all rings, or of each stream's. Probing rows reach the middle of a ring after half its
    hops. The work of the units and the hops of all rounds overlap; the longer of the two counts.
    """
    lengths = [units] * (max(_streams(work)) + 1) if isinstance(units, int) else list(units)
    rings = [lengths[lookup.stream] for lookup in work.lookups]
    busy = (work.insert_seconds + work.purge_seconds) / lengths[work.head]
    for rows, lookup, ring in zip(probing_rows(work), work.lookups, rings, strict=True):
        busy += rows * (lookup.stored_rows * lookup.pair_seconds / ring + work.send_seconds)
    hops = work.hop_seconds * (sum(rings) + lengths[work.head])
    return (sum(rings) / len(rings) - 1) / 2 * work.hop_seconds + max(busy, hops)


def _streams(work: RingWork) -> list[int]:
    return [work.head, *(lookup.stream for lookup in work.lookups)]


def required_bandwidth(work: RingWork, units: int, row_bytes: float) -> float:
    """Equation 6: the bytes a second of a link below which units wait for the network.

    A row must arrive in the time in which a unit compares it with its share of the smallest state.
    """
    fastest = min(lookup.pair_seconds * lookup.stored_rows for lookup in work.lookups) / units
    return math.inf if fastest == 0 else row_bytes / fastest


def traffic_ratio(work: RingWork, units: int) -> float:
    """Rows between units over rows of results: exactly for any sequence.

    Of equal lookups that find many rows it comes near to N / (lambda W S) for the last lookup alone (section 4.3).
    """
    rows = probing_rows(work)
    return units * sum(rows) / (rows[-1] * work.lookups[-1].matches)
