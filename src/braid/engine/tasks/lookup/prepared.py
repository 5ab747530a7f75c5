"""Probing rows, prepared once for each sort order that the segments of the looked-up stream are in."""

from __future__ import annotations

from collections.abc import Mapping

from braid.kernels.probing import Counters, Probing, Searchable, prepare
from braid.kernels.ranks import RankIndex
from braid.kernels.rows import Rows
from braid.optimizer.join_orders import build_probe
from braid.plan.join import JoinPlan


class PreparedRows:
    """Rows of the `joined` streams that look up a stream or intermediate result."""

    def __init__(
        self,
        plan: JoinPlan,
        joined: tuple[int, ...],
        number: int,
        rows: Rows,
        rank_indexes: Mapping[int, RankIndex],
        check_order: tuple[int, ...] = (),
    ) -> None:
        self._plan = plan
        self._joined = joined
        self._number = number
        self._rows = rows
        self._rank_indexes = rank_indexes
        self._check_order = check_order
        self._counters = Counters()
        self._prepared: dict[tuple[tuple[int, ...], bool], Probing] = {}

    def probing(self, segment: Searchable) -> Probing:
        """The rows as they search this segment; all have the same counters."""
        form = segment.choices, segment.grouped
        found = self._prepared.get(form)
        if found is None:
            probe = build_probe(self._plan, self._joined, self._number, segment.choices, self._check_order)
            own = self._joined, probe, self._rows, self._counters, self._rank_indexes, segment.grouped
            found = self._prepared[form] = prepare(self._plan, *own)
        return found
