"""What each unit of a slot stores, and what the lookups in it cost."""

from __future__ import annotations

from dataclasses import asdict

from braid.engine.reports import UnitCounts
from braid.engine.tasks.lookups import SlotLookups


def unit_counts(lookups: SlotLookups, cpu: float) -> tuple[UnitCounts, ...]:
    """What each unit of a slot stores, and what its lookups cost; together they took so many seconds of CPU."""
    shares, received, stored = lookups.shares(), lookups.received(), lookups.stored()
    return tuple(
        UnitCounts(
            epoch=place[0],
            unit=place[1],
            cpu=cpu * shares.get(place, 0.0),
            stored_rows=stored[place].rows,
            stored_bytes=stored[place].size,
            copies=stored[place].copies,
            received_bytes=received.get(place, 0),
            **asdict(lookups.units[place]),
        )
        for place in sorted({*stored, *received})
    )
