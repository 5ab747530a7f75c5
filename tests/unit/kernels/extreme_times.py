"""Times at and near the ends of what 64 bits of microseconds hold."""

from __future__ import annotations

from braid.plan.instants import EARLIEST_US, LATEST_US

ENDS = (EARLIEST_US, EARLIEST_US + 1, -(1 << 53), -1, 0, 1, 1_767_200_000_000_000_000, LATEST_US - 1, LATEST_US)
