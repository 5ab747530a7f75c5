"""Commands: what the driver sends to the tasks of one job.

A task's code and plan are fixed for a run; only its command changes from step to step. So one planned DataFrame serves
all steps. A command is made for the whole job and divided by slot (`sending/`): a task reads only the part of its slot.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Generic, Self, TypeVar

from braid.engine.reports import (
    AggregateReport,
    IngestReport,
    ProbeReport,
    RankReport,
    ReleaseReport,
    RoundsReport,
    SiteReport,
    TaskReport,
)
from braid.engine.row_ids import RowIds
from braid.placement.admission import ALWAYS, NEVER, Admission
from braid.placement.sites import slots_of_sites
from braid.plan.join import SortOrder
from braid.plan.layout import Layout
from braid.plan.sites import Copy, SiteSequence
from braid.state.manifest import AggregateState, Block, Merge
from braid.state.observed.groups import Push
from braid.state.order_state import RankIndexFile
from braid.state.paging.payload_files import PayloadFile
from braid.state.site_state import TupleFiles

PROPERTY = "braid.command"

R = TypeVar("R", bound=TaskReport)


class Command(Generic[R]):
    """What the tasks of one job do; each returns a report of type `reports`.

    A probe command has parts of its own kind (`sending/probe_parts.py`).
    """

    step: int
    run: str
    reports: ClassVar[type[Any]]

    def divide(self, slots: int) -> list[Self]:
        """The command of each slot, or one command that is the same for all."""
        return [self]

    def watching(self) -> Self | None:
        """The same, with notes of the calls of users' functions; None where there are none."""
        return None


@dataclass(frozen=True)
class IngestCommand(Command[IngestReport]):
    """Ingest the rows of a step, under these watermarks and by this layout.

    `newest_us` is the newest event time that rows of each stream may have; None: any. `row_ids` are the ids for rows
    of row-based windows. Rows that are sorted have the `sort_orders` of the step before: those of this step are decided
    from what its tasks sample, each up to `sampled_rows`. Rows of the streams `payloads_apart` are stored with the
    addresses of their payloads.
    """

    reports = IngestReport
    step: int
    run: str
    watermarks: tuple[int | None, ...]
    layout: Layout
    newest_us: tuple[int | None, ...]
    row_ids: RowIds
    sort_orders: tuple[SortOrder, ...] = ()
    sampled_rows: int = 0
    payloads_apart: tuple[int, ...] = ()

    def sort_order(self, stream: int) -> SortOrder:
        """How rows of a stream are stored that are sorted at ingest."""
        return self.sort_orders[stream] if self.sort_orders else SortOrder()


@dataclass(frozen=True)
class Visit:
    """Rows of a delta stream look up the rows of a stream at this unit and route, and no other copies of them."""

    delta_stream: int
    stream: int
    unit: int
    route: int


@dataclass(frozen=True)
class ProbeCommand(Command[ProbeReport]):
    """Run rounds `first_round` to `last_round` of every probe order of a term, in `step`.

    The rows are those of the admission's step, which may be an earlier one. Probe orders end together, in the last
    round. `blocks` are what is probed, and what probes: the live blocks and the step's own. The first job gathers: a
    slot reads the rows of its units in the ingest files of `gathers`, and stores them as its own block. `exchanged` are
    the files of the previous round; `admission` says which rows start and what they see; `sort_orders` says how rows
    are stored, `check_order` in which order conjuncts that cannot raise are evaluated. `visits` are the copies that are
    looked up, where a step has chosen them; `pushes` say which parts of partition groups are. As many `merges` as there
    are `separations`, those with the lowest numbers, put pushed rows apart before the lookups of the first job; the
    others follow those of the last. `payloads` are the payload files that rows have addresses in. `watched`: note the
    calls of users' functions, in a job that is retried because a worker died.
    """

    reports = ProbeReport
    step: int
    run: str
    layouts: tuple[Layout, ...]
    blocks: tuple[Block, ...]
    join_orders: tuple[tuple[int, ...], ...]
    merges: tuple[Merge, ...]
    first_round: int
    last_round: int
    exchanged: tuple[str, ...]
    admission: Admission
    sort_orders: tuple[SortOrder, ...] = ()
    check_order: tuple[int, ...] = ()
    rank_indexes: tuple[RankIndexFile, ...] = ()
    gathers: tuple[Merge, ...] = ()
    visits: tuple[Visit, ...] = ()
    aggregate_parts: int = 0
    watched: bool = False
    pushes: tuple[Push, ...] = ()
    separations: int = 0
    payloads: tuple[PayloadFile, ...] = ()

    @property
    def rounds(self) -> int:
        """The number of rounds in all jobs of the step."""
        return max(len(order) for order in self.join_orders)

    def watching(self) -> Self:
        return replace(self, watched=True)

    def seeing(self, blocks: Iterable[Block]) -> Self:
        """The command with what its rows, of an earlier step, may see of some blocks: those up to that step.

        Intermediate results, which a later step may have derived from them, are of no use to it.
        """
        step, streams = self.admission.step, len(self.join_orders)
        return replace(self, blocks=tuple(b for b in blocks if b.first_step <= step and b.stream < streams))

    def sort_order(self, number: int) -> SortOrder:
        """How rows of a stream or intermediate result are stored."""
        return self.sort_orders[number] if number < len(self.sort_orders) else SortOrder()

    @property
    def separating(self) -> tuple[Merge, ...]:
        """The merges that run before the lookups."""
        return tuple(merge for merge in self.merges if merge.number < self.separations)

    @property
    def following(self) -> tuple[Merge, ...]:
        """The merges that run after the lookups."""
        return tuple(merge for merge in self.merges if merge.number >= self.separations)

    @property
    def is_last(self) -> bool:
        """Whether no probe job follows."""
        return self.last_round == self.rounds - 1


@dataclass(frozen=True)
class RoundsCommand(Command[RoundsReport]):
    """Run rounds of several terms in one job: a slot runs one command after the other.

    The first has the blocks of all: each of the others sees those up to its own step.
    """

    reports = RoundsReport
    step: int
    run: str
    probes: tuple[ProbeCommand, ...]

    def watching(self) -> Self:
        return replace(self, probes=tuple(probe.watching() for probe in self.probes))


@dataclass(frozen=True)
class SiteCommand(Command[SiteReport]):
    """Run the rounds of a step between sites: `sequences` for the new rows of every stream, with these `copies`.

    `common` is a probe command without blocks; `starting` are ingest files, of which every unit takes its rows. A slot
    has the `blocks` of its units, their `tables` of partial tuples, and what they are to gather and to merge. Rows of a
    stream from `departed_before` up to `departed_until` leave the counts of copies; they may be in `expired` blocks,
    which no row looks up any more. Messages are also counted as if they were sent every `interval_us` of event time.
    A site with storage of its own `removes` what is `unneeded` there, and after a start all that is not `named`.
    """

    reports = SiteReport
    step: int
    run: str
    common: ProbeCommand
    sequences: tuple[SiteSequence, ...]
    copies: tuple[Copy, ...]
    starting: tuple[Block, ...]
    departed_before: tuple[int | None, ...]
    departed_until: tuple[int | None, ...]
    interval_us: int
    blocks: tuple[Block, ...] = ()
    expired: tuple[Block, ...] = ()
    tables: tuple[TupleFiles, ...] = ()
    gathers: tuple[Merge, ...] = ()
    merges: tuple[Merge, ...] = ()
    removes: bool = False
    unneeded: tuple[str, ...] = ()
    named: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        return self.common.layouts[-1]

    @property
    def probe(self) -> ProbeCommand:
        """The probe command of a slot."""
        blocks = (*self.blocks, *self.starting)
        return replace(self.common, blocks=blocks, gathers=self.gathers, merges=self.merges)

    def divide(self, slots: int) -> list[Self]:
        """A slot gets what concerns its units; blocks of other layouts, whose rows move, concern every slot."""
        newest = self.layout.epoch
        slot_of_unit = [rank % slots for rank in slots_of_sites(self.layout)]
        blocks, expired = ([list[Block]() for _ in range(slots)] for _ in range(2))
        for into, given in ((blocks, self.blocks), (expired, self.expired)):
            for block in given:
                known = block.units if block.epoch == newest else None
                for slot in range(slots) if known is None else {slot_of_unit[unit] for unit in known}:
                    into[slot].append(block)
        units = {block.file: block.units for block in self.blocks}
        merges = [list[Merge]() for _ in range(slots)]
        for merge in self.merges:
            for slot in {slot_of_unit[unit] for unit in units[merge.files[0]] or ()}:
                merges[slot].append(merge)
        return [
            replace(
                self,
                blocks=tuple(blocks[slot]),
                expired=tuple(expired[slot]),
                tables=tuple(table for table in self.tables if slot_of_unit[table.unit] == slot),
                merges=tuple(merges[slot]),
            )
            for slot in range(slots)
        ]


@dataclass(frozen=True)
class BufferedFrom:
    """A file of buffered rows; those up to `after_us` are already released."""

    file: str
    after_us: int


@dataclass(frozen=True)
class AggregateCommand(Command[AggregateReport]):
    """Add the partial aggregates of a step to the aggregate state, and emit the changes.

    The generations in `compacted` are rewritten together with the step's own rows. `newest_us` is the newest result
    time including this step, where the driver knows it; rows older than `forget_us` are no longer needed. In its
    `first` update an aggregation without groups always emits its values. In order, only rows up to `until_us` count,
    and the unreleased rows of the files in `rewritten` are rewritten.
    """

    reports = AggregateReport
    step: int
    run: str
    aggregate: AggregateState
    partials: tuple[BufferedFrom, ...]
    compacted: tuple[int, ...]
    newest_us: int | None
    forget_us: int | None
    first: bool = False
    until_us: int = NEVER
    rewritten: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseCommand(Command[ReleaseReport]):
    """Emit buffered results up to `frontier_us` in order: slot n writes those between `cuts` n and n + 1.

    Divided, a slot has no cuts: it writes the results after `after_us` up to `until_us`. The unreleased rows of the
    files in `compacted` are rewritten.
    """

    reports = ReleaseReport
    step: int
    run: str
    blocks: tuple[BufferedFrom, ...]
    frontier_us: int
    cuts: tuple[int, ...]
    compacted: tuple[str, ...]
    after_us: int = ALWAYS
    until_us: int = ALWAYS

    def divide(self, slots: int) -> list[Self]:
        edges = (ALWAYS, *self.cuts, self.frontier_us)
        spans = list(pairwise(edges))
        spans += [(self.frontier_us, self.frontier_us)] * (slots - len(spans))
        return [
            replace(self, cuts=(), compacted=self.compacted[slot::slots], after_us=after, until_us=until)
            for slot, (after, until) in enumerate(spans)
        ]


@dataclass(frozen=True)
class ArrivalLogFrom:
    """A file of a stream's arrival log; the rows up to `after_us` are already ranked."""

    stream: int
    file: str
    after_us: int


@dataclass(frozen=True)
class RankCommand(Command[RankReport]):
    """Rank the rows up to `until_us`, after those of the `rank_indexes` up to `before_us`."""

    reports = RankReport
    step: int
    run: str
    arrival_logs: tuple[ArrivalLogFrom, ...]
    rank_indexes: tuple[RankIndexFile, ...]
    before_us: int
    until_us: int

    def divide(self, slots: int) -> list[Self]:
        """The streams are dealt to the slots."""
        streams = sorted({arrival_log.stream for arrival_log in self.arrival_logs})
        return [self._for_streams(streams[slot::slots]) for slot in range(slots)]

    def _for_streams(self, streams: list[int]) -> Self:
        return replace(
            self,
            arrival_logs=tuple(log for log in self.arrival_logs if log.stream in streams),
            rank_indexes=tuple(index for index in self.rank_indexes if index.stream in streams),
        )
