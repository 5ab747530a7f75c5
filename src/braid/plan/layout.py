"""A layout: how rows are spread over units, as plain numbers that a manifest records."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

Kind = Literal["partitioned", "biclique", "matrix", "time_sliced", "aligned", "coordinated", "sites"]
Goal = Literal["latency", "throughput"]
"""What the lengths of rings are chosen for: results soon after their last row, or as many rows a second as possible."""
SlicingKind = Literal["time", "count"]
"""What slices have in common: their length, or the number of rows that they have at most."""
Adapt = Literal["off", "passive", "aggressive"]
"""Whether slices are redistributed among units: never; new slices only; or also those that are stored."""


@dataclass(frozen=True)
class Slicing:
    """The time slices of a stream: intervals of event time of `width_us`, in turn at the units of its ring.

    The ring has `units` units, the first of them is number `first`. With `weights`, one for each unit of the ring, a
    unit has so many slices of every `sum(weights)`; otherwise all have as many. Slice `number` begins at event time
    `start_us`.
    """

    width_us: int
    units: int
    first: int = 0
    weights: tuple[int, ...] = ()
    start_us: int = 0
    number: int = 0


@dataclass(frozen=True)
class Segmenting:
    """The segments of a stream: intervals of event time of `width_us`, dealt in turn to the units.

    A row is at the unit of its segment. In an aligned layout it is also at the units of all segments from `before_us`
    before its event time to `after_us` after it; None: no limit, so at every unit. In a coordinated layout it is at
    `copies` units, its own and those that follow.
    """

    width_us: int
    before_us: int | None = 0
    after_us: int | None = 0
    copies: int = 1


@dataclass(frozen=True)
class Cover:
    """The unit that rows of `delta_stream` visit for each class of segments of `stream`; -1: none, it has no rows."""

    delta_stream: int
    stream: int
    units: tuple[int, ...]


@dataclass(frozen=True)
class SiteSlots:
    """A site by its name, and the slots that have its units, one each; modulo the number of slots."""

    name: str
    slots: tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """A placement in force from one step on.

    `partitioned`: `units[0]` units, each storing every stream's rows of its share of the keys. With `group_units` the
    keys are in partition groups, ranges of their hashes, and it has the unit of each group.
    `biclique`: `units[i]` units for stream i, in `groups[i]` subgroups by key (ContRand; 1: random). With `ranges` the
    subgroups of a side are ranges of one number of its stream: `ranges[i]` has the boundaries between them, ascending;
    a range includes its lower boundary.
    `matrix`: `units[0]` rows by `units[1]` columns of units; a row of the first stream is stored along a whole row of
    the matrix, one of the second along a whole column.
    `time_sliced`: `units[0]` units, each storing slices of event time of every stream; `slices` has those of each
    stream, `goal` what the units of each ring are chosen for, None where they were given. `slicing` and `adapt` say how
    slices change; where they have changed, `first_slices` are those that the strategy chose. Every row visits all
    units, so in one epoch the slices may change from step to step.
    `aligned`: `units[0]` units, each storing segments of event time of a master stream, and the rows of all other
    streams that may join them; `segments` says which.
    `coordinated`: `units[0]` units; every segment of event time of every stream is stored at several of them.
    `sites`: `units[0]` units at `sites`; `homes` has the site of each stream, where its rows are stored. Other sites
    may have copies.
    `archive_us` is the range of event time of a sub-index, where the strategy chose one. `sizes` has the units of every
    subgroup of every side of a biclique, where they are not distributed evenly. `most_groups` has the subgroups that a
    biclique starts with, where hot keys may reduce them; None where they are fixed. With `ranges` it has the largest
    number of ranges of each side, and None means one per unit. `tree` is the order of the streams
    in a tree of bicliques, in which an intermediate result is stored on the side of its first member; None: sequences.
    `stored_as` identifies the keys, sort orders and columns of the rows: a corrected query may need others. With
    `follows_work` it has units for as many slots as the steps have work for.
    """

    epoch: int
    kind: Kind
    units: tuple[int, ...]
    groups: tuple[int, ...]
    archive_us: int | None = None
    sizes: tuple[tuple[int, ...], ...] | None = None
    most_groups: tuple[int, ...] | None = None
    tree: tuple[int, ...] | None = None
    stored_as: str = ""
    follows_work: bool = False
    ranges: tuple[tuple[float, ...], ...] | None = None
    slices: tuple[Slicing, ...] = ()
    goal: Goal | None = None
    segments: tuple[Segmenting, ...] = ()
    slicing: SlicingKind = "time"
    adapt: Adapt = "off"
    first_slices: tuple[Slicing, ...] = ()
    group_units: tuple[int, ...] = ()
    sites: tuple[SiteSlots, ...] = ()
    homes: tuple[int, ...] = ()

    @property
    def by_key(self) -> bool:
        """Whether it places rows by a key that every stream has."""
        return self.kind == "partitioned" or (self.ranges is None and max(self.groups) > 1)

    @property
    def by_value(self) -> bool:
        """Whether the place of a row depends on its values, so that a slot probes with few rows of others."""
        return self.by_key or self.ranges is not None or self.kind == "sites"

    @property
    def by_time(self) -> bool:
        """Whether the place of a row depends on its event time alone."""
        return bool(self.slices or self.segments)

    @property
    def has_copies(self) -> bool:
        """Whether it stores rows at several units."""
        return self.kind in ("matrix", "aligned", "coordinated", "sites")

    @property
    def has_ranges(self) -> bool:
        """Whether it has ranges, and not one for all numbers because there were no samples yet."""
        return self.ranges is not None and any(self.ranges)

    def members(self, stream: int) -> tuple[int, ...]:
        """The number of units in each subgroup of a stream's side."""
        if self.sizes is not None:
            return self.sizes[stream]
        count, groups = self.units[stream], self.groups[stream]
        return tuple((count - group - 1) // groups + 1 for group in range(groups))

    def resized(self, stream: int, group: int, count: int) -> Layout:
        """The same with another number of units in one subgroup."""
        sides = [list(self.members(side)) for side in range(len(self.units))]
        sides[stream][group] = count
        units = tuple(sum(side) for side in sides)
        return replace(self, units=units, sizes=tuple(tuple(side) for side in sides))

    def sized(self, slots: int) -> Layout:
        """The same for another number of slots, of a biclique with a unit of every side per slot."""

        def replaced(counts: tuple[int, ...]) -> tuple[int, ...]:
            return tuple(slots if count == self.units[0] else count for count in counts)

        most = None if self.most_groups is None else replaced(self.most_groups)
        return replace(self, units=replaced(self.units), groups=replaced(self.groups), most_groups=most)

    def regrouped(self, groups: tuple[int, ...]) -> Layout:
        """The same with other numbers of subgroups. Units are distributed evenly, at least one per subgroup."""
        units = tuple(max(count, parts) for count, parts in zip(self.units, groups, strict=True))
        return replace(self, groups=groups, units=units, sizes=None)

    def ranged(self, ranges: tuple[tuple[float, ...], ...], sizes: tuple[tuple[int, ...], ...]) -> Layout:
        """The same with other ranges, and the number of units of each."""
        groups = tuple(len(boundaries) + 1 for boundaries in ranges)
        units = tuple(sum(side) for side in sizes)
        return replace(self, ranges=ranges, groups=groups, units=units, sizes=sizes)

    def resliced(self, slices: tuple[Slicing, ...]) -> Layout:
        """The same with other slices."""
        first = self.first_slices or self.slices
        return replace(self, slices=slices, first_slices=() if slices == first else first)

    def started_by(self, chosen: Layout) -> bool:
        """Whether the chosen layout may have become this one by changes of its subgroups, ranges or slices."""
        if chosen.slices or self.slices:
            began = replace(self, slices=self.first_slices or self.slices, first_slices=(), adapt=chosen.adapt)
            return began.same_as(chosen)
        same = self.most_groups == chosen.most_groups and self.stored_as == chosen.stored_as
        if self.ranges is not None or chosen.ranges is not None:
            return same and self.ranges is not None and chosen.ranges is not None
        return chosen.most_groups is not None and same

    def adapted_as(self, newest: Layout, elastic: bool) -> Layout:
        """This layout, as the strategy chose it, with the subgroups that it has been given meanwhile.

        If it is not `elastic`, ranges for another number of units are of no use.
        """
        if newest.ranges is None:
            return self.regrouped(newest.groups)
        if newest.units != self.units and not elastic:
            return self
        return replace(self, ranges=newest.ranges, groups=newest.groups, units=newest.units, sizes=newest.sizes)

    def shares_groups(self, other: Layout) -> bool:
        """Whether both have the same partition groups, of rows that are stored alike; their units may differ."""
        groups = len(self.group_units)
        return 0 < groups == len(other.group_units) and self.stored_as == other.stored_as

    @property
    def routes(self) -> int:
        """The number of parts of the keys: the smallest that every side can distribute evenly to its subgroups."""
        return math.lcm(*self.groups)

    def scaled_from(self, other: Layout) -> bool:
        """Whether both differ only in numbers of units."""
        return self.same_as(replace(other, units=self.units, sizes=self.sizes))

    def same_as(self, other: Layout) -> bool:
        """Whether both spread rows in the same way, apart from their epochs."""
        return replace(self, epoch=0) == replace(other, epoch=0)
