"""Terms: what a step has to probe, and what of it is still to be done when the step is committed.

A plain step is a term that ends within the step. With interleaved rounds a term may end in a later one: the manifest
lists it until then. A term finds its results in its last round, so one that is not finished has emitted nothing.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """The probe rounds of the rows that `step` brought, from `next_round` on.

    Its rows see blocks of steps up to its own, by the delta rule, and what had not expired under its `watermarks`. The
    rows under way are in the `exchanged` files, in round 0 in the blocks of the step. No event time of theirs is below
    `oldest_us`, so no result time is. They arrived at `arrived_ms` of the clock.
    """

    step: int
    watermarks: tuple[int | None, ...]
    join_orders: tuple[tuple[int, ...], ...]
    check_order: tuple[int, ...]
    oldest_us: int
    arrived_ms: int
    next_round: int = 0
    exchanged: tuple[str, ...] = ()

    @property
    def rounds(self) -> int:
        """The number of all its rounds."""
        return max(len(order) for order in self.join_orders)

    @property
    def rounds_left(self) -> int:
        return self.rounds - self.next_round
