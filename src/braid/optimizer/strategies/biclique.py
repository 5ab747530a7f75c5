"""Biclique: one side of units per stream, no row is stored twice, and every probe visits the whole other side.

With subgroups (ContRand) the equality key determines the subgroup, so a probe visits only that part of each side. With
ranges the subgroups are ranges of a number, and a probe visits those that its bounds reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.optimizer.trees import choose_tree
from braid.plan.durations import duration_us
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout

Counts = tuple[int, ...] | int
Routing = Literal["random", "contrand", "range"]
Shape = Literal["sequences", "tree"]

# Tasks group rows and segments by route: this bounds the number of groups.
MAX_ROUTES = 4096


@dataclass(frozen=True)
class Biclique:
    """`units` and `groups`: one number per stream, or one for all.

    `routing`: `random` spreads rows regardless of their values; `contrand` sends the rows of a key to one subgroup, at
    random within it. Without it, more than one group means `contrand`; without `groups`, `contrand` starts with one
    subgroup per unit, and hot keys reduce their number. `range` sends a row to the range of a number that comparisons
    bound; the ranges follow the data, at most `groups` of them, and a value with many rows is spread over several
    units. `archive`: the range of event time of a sub-index.
    `shape`: how three and more streams are joined. With `sequences` a new row looks up the others one after another,
    and no intermediate result is stored; with `tree` intermediate results are stored and looked up.
    """

    units: Counts | None = None
    groups: Counts | None = None
    routing: Routing | None = None
    archive: str | timedelta | None = None
    shape: Shape = "sequences"

    def __post_init__(self) -> None:
        for name, counts in (("units", self.units), ("groups", self.groups)):
            for count in counts if isinstance(counts, tuple) else (counts,):
                if count is not None:
                    require_positive(f"Biclique({name}=...)", count)
        if self.routing not in (None, "random", "contrand", "range"):
            raise StrategyError(f"Biclique(routing=...) is 'random', 'contrand' or 'range', not {self.routing!r}.")
        if self.routing == "random" and self.groups is not None and _largest(self.groups) > 1:
            raise StrategyError(
                f"Biclique(routing='random', groups={self.groups}): random routing has no subgroups.",
                hint="Leave out groups, or use routing='contrand'.",
            )
        if self.shape not in ("sequences", "tree"):
            raise StrategyError(f"Biclique(shape=...) is 'sequences' or 'tree', not {self.shape!r}.")
        self._archive_us()

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        streams = len(plan.streams)
        if self.routing == "range":
            return self._by_range(plan, slots)
        groups = self._groups(streams, slots)
        units = _each("units", self.units, streams, max(slots, *groups))
        layout = Layout(
            epoch=0,
            kind="biclique",
            units=units,
            groups=groups,
            archive_us=self._archive_us(),
            most_groups=groups if self._adapts else None,
            tree=self._tree(plan),
        )
        if layout.by_key and plan.common_part is None:
            raise StrategyError(
                f"{self.describe()} cannot run this join: subgroups need an equality that every stream takes part in, "
                "on expressions that cannot raise.",
                hint="Use routing='random', which joins on any predicate.",
            )
        if any(count < parts for count, parts in zip(units, groups, strict=True)):
            raise StrategyError(
                f"{self.describe()}: each side needs at least one unit in every subgroup, but has units {units} for "
                f"groups {groups}.",
                hint="Use more units, or fewer groups.",
            )
        if layout.routes > MAX_ROUTES:
            raise StrategyError(
                f"{self.describe()}: groups {groups} cut the keys into {layout.routes} parts, more than {MAX_ROUTES}.",
                hint="Use numbers of groups that divide each other.",
            )
        return layout

    def _by_range(self, plan: JoinPlan, slots: int) -> Layout:
        """One range for everything, until there are samples of the numbers."""
        if all(stream.routing is None for stream in plan.streams):
            raise StrategyError(
                f"{self.describe()} cannot run this join: no comparison of two streams bounds a number.",
                hint="Use routing='random', which joins on any predicate.",
            )
        streams = len(plan.streams)
        return Layout(
            epoch=0,
            kind="biclique",
            units=_each("units", self.units, streams, slots),
            groups=(1,) * streams,
            archive_us=self._archive_us(),
            most_groups=None if self.groups is None else _each("groups", self.groups, streams, 1),
            tree=self._tree(plan),
            ranges=((),) * streams,
        )

    def _tree(self, plan: JoinPlan) -> tuple[int, ...] | None:
        tree = choose_tree(plan) if self.shape == "tree" else None
        if tree is not None and plan.row_based:
            names = ", ".join(plan.streams[stream].name for stream in plan.row_based)
            raise StrategyError(
                f"{self.describe()} cannot run this join: the windows of {names} count rows, and no rank index decides "
                "when a stored intermediate result is outside such a window.",
                hint="Use shape='sequences', or windows of time.",
            )
        return tree

    def describe(self) -> str:
        given = (
            ("units", self.units),
            ("groups", self.groups),
            ("routing", self.routing),
            ("archive", self.archive),
            ("shape", None if self.shape == "sequences" else self.shape),
        )
        return f"Biclique({', '.join(f'{name}={value!r}' for name, value in given if value is not None)})"

    def _groups(self, streams: int, slots: int) -> tuple[int, ...]:
        """The given numbers; ContRand without a number starts with one subgroup per unit."""
        if self._adapts:
            return _each("units", self.units, streams, slots)
        return _each("groups", self.groups, streams, 1)

    @property
    def _adapts(self) -> bool:
        return self.groups is None and self.routing == "contrand"

    def _archive_us(self) -> int | None:
        return None if self.archive is None else max(1, duration_us("Biclique(archive=...)", self.archive))


def _each(name: str, counts: Counts | None, streams: int, default: int) -> tuple[int, ...]:
    """One number for each stream."""
    if isinstance(counts, tuple):
        if len(counts) != streams:
            raise StrategyError(
                f"Biclique({name}={counts}) has {len(counts)} sides, but the join has {streams} streams.",
                hint=f"Give one number of {name} for each stream, in the order of braid.join.",
            )
        return counts
    return (default if counts is None else counts,) * streams


def _largest(counts: Counts) -> int:
    return max(counts) if isinstance(counts, tuple) else counts
