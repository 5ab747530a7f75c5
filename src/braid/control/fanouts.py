"""What was seen of lookups: how many results each gave per probing row, newer steps counting more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from braid.plan.join import JoinPlan
from braid.state.manifest import Fanout, Manifest

FADING = 0.9


def fanouts_after(
    plan: JoinPlan, before: Manifest, join_orders: Sequence[tuple[int, ...]], reports: Sequence[dict[str, Any]]
) -> tuple[Fanout, ...]:
    """Earlier observations fade; those of a step's reports are added.

    Of an earlier tree only what was seen of streams counts: the numbers of derived streams are those of one tree.
    """
    same = before.layout.tree == plan.tree
    seen = {
        (fanout.delta_stream, fanout.stream, fanout.joined): (fanout.probes * FADING, fanout.matches * FADING)
        for fanout in before.fanouts
        if same or fanout.stream < len(plan.streams)
    }
    for report in reports:
        for lookup in report["lookups"]:
            key = (lookup["head"], lookup["stream"], _joined_before(plan, join_orders[lookup["head"]], lookup))
            probes, matches = seen.get(key, (0.0, 0.0))
            seen[key] = (probes + lookup["probes"], matches + lookup["matched"])
    return tuple(Fanout(*key, *counts) for key, counts in sorted(seen.items()))


def _joined_before(plan: JoinPlan, order: tuple[int, ...], lookup: dict[str, Any]) -> tuple[int, ...]:
    before = order[: order.index(lookup["stream"])]
    return tuple(sorted((lookup["head"], *(member for number in before for member in plan.members(number)))))
