"""Observed fan-outs of lookups: the number of matches per probing row, with decay of older steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from braid.plan.join import JoinPlan
from braid.state.manifest import Fanout, Manifest

# Observations of a step lose a tenth with every later step, so join orders follow a change within about ten steps.
DECAY = 0.9


def fanouts_after(
    plan: JoinPlan, before: Manifest, join_orders: Sequence[tuple[int, ...]], reports: Sequence[dict[str, Any]]
) -> tuple[Fanout, ...]:
    """Earlier observations decay; those of a step's reports are added.

    After a change of the tree, observations of intermediate results are dropped: their numbers are those of one tree.
    """
    same = before.layout.tree == plan.tree
    seen = {
        (fanout.delta_stream, fanout.stream, fanout.joined): (fanout.probes * DECAY, fanout.matches * DECAY)
        for fanout in before.fanouts
        if same or fanout.stream < len(plan.streams)
    }
    for report in reports:
        for lookup in report["lookups"]:
            delta_stream = lookup["delta_stream"]
            joined = _joined_before(plan, join_orders[delta_stream], lookup)
            key = (delta_stream, lookup["stream"], joined)
            probes, matches = seen.get(key, (0.0, 0.0))
            seen[key] = (probes + lookup["probes"], matches + lookup["matched"])
    return tuple(Fanout(*key, *counts) for key, counts in sorted(seen.items()))


def _joined_before(plan: JoinPlan, order: tuple[int, ...], lookup: dict[str, Any]) -> tuple[int, ...]:
    before = order[: order.index(lookup["stream"])]
    return tuple(sorted((lookup["delta_stream"], *(member for number in before for member in plan.members(number)))))
