"""The cost of a layout in closed form: bytes stored, bytes sent, and the gain of another unit.

For two streams these are the equations of the join-biclique analysis (memory 1 and 2, scaling gain 3 and 4, bandwidth 5
and 6), extended to any number of streams where the scheme allows it. Sizes and rates are bytes and bytes per second of
each stream, in the order of the join.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from braid.plan.layout import Layout, Segmenting


def copies(layout: Layout, stream: int) -> float:
    """The number of units that store a row of the stream, on average over its event time."""
    if layout.kind == "aligned":
        return _aligned_copies(layout.segments[stream], layout.units[0])
    if layout.kind == "coordinated":
        return layout.segments[stream].copies
    return layout.units[1 - stream] if layout.kind == "matrix" else 1


def _aligned_copies(segmenting: Segmenting, units: int) -> float:
    """An interval of event time meets one segment more than whole segments fit in it, or with its rest two more."""
    if segmenting.before_us is None or segmenting.after_us is None:
        return units
    whole, rest = divmod(segmenting.before_us + segmenting.after_us, segmenting.width_us)
    share = rest / segmenting.width_us
    return (1 - share) * min(units, whole + 1) + share * min(units, whole + 2)


def stored_bytes(layout: Layout, sizes: Sequence[float]) -> float:
    """Memory of all units together, for streams of these sizes (equations 1 and 2)."""
    return sum(size * copies(layout, stream) for stream, size in enumerate(sizes))


def sent_bytes(layout: Layout, rates: Sequence[float]) -> float:
    """Bytes that reach units, to be stored or to probe (equations 5 and 6).

    In a biclique a row is stored at one unit and probes a subgroup of every other side; with time slices it probes the
    units of a ring, with coordinated routing a smallest cover of the units. In other layouts it probes where it is
    stored. For more than two streams only the first lookup of each new row counts.
    """
    return sum(rate * (copies(layout, stream) + visited_units(layout, stream)) for stream, rate in enumerate(rates))


def visited_units(layout: Layout, stream: int) -> float:
    """Units that a probing row of the stream is sent to at its first lookup, in addition to those that store it."""
    if layout.kind == "time_sliced":
        rings = [slicing.units for other, slicing in enumerate(layout.slices) if other != stream]
        return sum(rings) / len(rings)
    if layout.kind == "coordinated":
        return math.ceil(layout.units[0] / layout.segments[stream].copies)
    if layout.kind != "biclique":
        return 0.0
    visits = [layout.units[other] / layout.groups[other] for other in range(len(layout.units)) if other != stream]
    return sum(visits) / len(visits)


def scaling_gain(layout: Layout, stream: int, capacity: float, sizes: Sequence[float]) -> float:
    """The share of a new unit's memory that is free for new rows when a side grows by one (equations 3 and 4).

    A matrix grows by a whole row or column, whose units first receive copies of the other stream's rows.
    """
    if layout.kind != "matrix":
        return 1.0
    other = 1 - stream
    return 1.0 - sizes[other] / layout.units[other] / capacity


def units_to_grow(layout: Layout, stream: int) -> int:
    """The smallest number of units by which a stream's side can grow."""
    return layout.units[1 - stream] if layout.kind == "matrix" else 1


def describe_cost(layout: Layout) -> str:
    """The cost of a layout as text, if every stream brings the same number of bytes."""
    if layout.kind == "sites":
        return "stores 1 times the input, and copies at other sites as the lookups need them"
    streams = 2 if layout.kind == "matrix" else max(len(layout.units), len(layout.slices), len(layout.segments))
    even = [1.0 / streams] * streams
    return f"stores {stored_bytes(layout, even):.3g} and sends {sent_bytes(layout, even):.3g} times the input"
