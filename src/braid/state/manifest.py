"""The manifest: everything that is state after a step, and the moves that publish the step's results.

State after step b is manifest b and the files it names; nothing else. A delta record has the input and the decisions of
a step before it is committed, so that a replay neither reads the source nor decides again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from braid.plan.join import SortOrder
from braid.plan.layout import Cover, Layout
from braid.plan.sites import SitePlan
from braid.state.blocks import WrittenBlock
from braid.state.observed.groups import GroupState, MemoryHistory, Push
from braid.state.observed.samples import KeyCounts, NumberSample, PathShare
from braid.state.order_state import Arrival, ArrivalLog, Buffered, OrderState
from braid.state.paging.payload_files import PayloadFile
from braid.state.site_state import Sent, SiteState
from braid.state.slice_state import SliceState
from braid.state.terms import Term
from braid.state.usage import Usage


@dataclass(frozen=True)
class Block:
    """A live block: rows of one stream or intermediate result that were stored in steps `first_step` to `last_step`.

    `epoch` names the layout it was stored under; `units` those it may have rows of, None for all. The rows of a
    `buffered` block that are newer than the frontier of ordered results have not probed yet. Its indexes are sorted by
    the numbers of `choices`; rows that are not sorted yet (`is_sorted`) are sorted where they are read. `copies` of its
    rows are not primary: the same rows are stored at another unit. A block *apart* has pushed rows: of these partition
    groups alone, and a segment has rows of one of them. Any other block has rows of the newest parts of its groups.
    Rows of an `addressed` block have addresses of payloads.
    """

    file: str
    stream: int
    first_step: int
    last_step: int
    epoch: int
    units: tuple[int, ...] | None
    rows: int
    size: int
    min_time: int
    max_time: int
    buffered: bool = False
    is_sorted: bool = True
    choices: tuple[int, ...] = ()
    copies: int = 0
    apart: tuple[int, ...] = ()
    addressed: bool = False


def stored_block(
    written: WrittenBlock,
    stream: int,
    steps: tuple[int, int],
    epoch: int,
    units: tuple[int, ...] | None = None,
    buffered: bool = False,
    is_sorted: bool = True,
    choices: tuple[int, ...] = (),
    copies: int = 0,
    addressed: bool = False,
) -> Block:
    """A written block as a live one, with rows of these first and last steps."""
    return Block(
        file=written.file,
        stream=stream,
        first_step=steps[0],
        last_step=steps[1],
        epoch=epoch,
        units=units,
        rows=written.rows,
        size=written.size,
        min_time=written.min_time,
        max_time=written.max_time,
        buffered=buffered,
        is_sorted=is_sorted,
        choices=choices,
        copies=copies,
        addressed=addressed,
    )


@dataclass(frozen=True)
class Merge:
    """Blocks of one stream that become one block per slot; rows older than `oldest_us` are dropped.

    With `into`, rows move to where the layout of that epoch stores them. Where that is also the `epoch`, the blocks
    have older assignments of its partition groups, and each slot takes the rows of its own groups. Blocks with
    `buffered` rows are merged only with each other, and none of their rows is dropped: they have not probed yet. A
    large merge is cut into `slices` of the sorted order. A step writes those from `first` up to `last`; what earlier
    steps wrote are the `parts`.
    Lookups read the files until the merge is complete, and nothing reads the parts before; all parts are sorted by the
    same numbers, those of `choices`. `number` is the merge's own among those of a step. Rows of the partition groups
    `apart` become a block of their own. With `whole`, rows are stored with the payloads that they have addresses of.
    """

    stream: int
    files: tuple[str, ...]
    epoch: int
    oldest_us: int | None
    into: int | None = None
    buffered: bool = False
    first: int = 0
    last: int = 1
    slices: int = 1
    parts: tuple[Block, ...] = ()
    number: int = 0
    choices: tuple[int, ...] | None = None
    apart: tuple[int, ...] = ()
    whole: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether one step writes all of it."""
        return self.first == 0 and self.last == self.slices

    @property
    def is_final(self) -> bool:
        """Whether nothing remains to be written after this step."""
        return self.last == self.slices

    @property
    def copied(self) -> tuple[Block, ...]:
        """The parts that this step copies; those of a move become blocks as they are."""
        return self.parts if self.is_final and self.into is None else ()


@dataclass(frozen=True)
class MergePace:
    """The rows of a stream that were merged, and the seconds that took; both decay from step to step."""

    stream: int
    rows: float
    seconds: float


@dataclass(frozen=True)
class Move:
    """A staged file and its published name; with `inside`, paths are relative to the checkpoint (late rows)."""

    source: str
    target: str
    inside: bool = False


@dataclass(frozen=True)
class Mark:
    """The progress of a stream between two steps; event times in µs, clock times in ms.

    `oldest_us` is the smallest event time of all rows ever stored.
    """

    newest_us: int | None
    watermark_us: int | None
    active_ms: int
    oldest_us: int | None = None


@dataclass(frozen=True)
class Fanout:
    """Observed lookups of `stream` by rows of `delta_stream`, after the streams `joined` before it."""

    delta_stream: int
    stream: int
    joined: tuple[int, ...]
    probes: float
    matches: float
    compared: float


@dataclass(frozen=True)
class CheckCost:
    """What was observed of a conjunct: the pairs that it was evaluated on, and the seconds.

    `sampled` pairs were chosen whatever other conjuncts say of them; `passed` of them passed.
    """

    conjunct: int
    pairs: float
    seconds: float
    sampled: float
    passed: float


@dataclass(frozen=True)
class Pressure:
    """The vote of a subgroup of a side, more units (1) or fewer (-1), and how often in a row."""

    stream: int
    group: int
    vote: int
    times: int


@dataclass(frozen=True)
class Load:
    """The bytes that a subgroup of a side stores."""

    stream: int
    group: int
    size: int


@dataclass(frozen=True)
class AggregateBlock:
    """A file of the aggregate state; `generation` is the step that wrote it."""

    file: str
    generation: int
    rows: int
    size: int


@dataclass(frozen=True)
class AggregateState:
    """Partial totals after a step, by group in `parts`, newest block last, and the newest emitted result time."""

    parts: int
    blocks: tuple[AggregateBlock, ...] = ()
    newest_us: int | None = None


@dataclass(frozen=True)
class Manifest:
    """The committed state after `step`; `batch` is the newest Spark batch it contains (-1: none).

    `derivation` identifies the plan that made the blocks of intermediate results, None where there are none.
    `late_rows` are the totals of every stream so far. `owner` is the number of the run's claim to the checkpoint,
    `owned_since` the first step it committed. `planned` identifies the rows that Spark planned for the batch.
    `next_row_id` is the first id that no row of a row-based window has yet. `unfinished` merges have slices still to
    write, `terms` rounds still to run. `slot_seconds` are the times of the slowest slot in the last steps,
    `work_seconds` the CPU times of all slots in those with as many units. `unit_pairs` are those that each unit
    compared, where lookups choose among copies. `groups` is what is known of partition groups, where there are any;
    `sites` that of streams at distant sites. `payloads` are those stored apart from their rows, `payload_widths` the
    bytes of a row's payload, by stream.
    """

    step: int
    batch: int
    run: str
    written_ms: int
    marks: tuple[Mark, ...]
    layouts: tuple[Layout, ...]
    blocks: tuple[Block, ...]
    next_row_id: int
    moves: tuple[Move, ...] = ()
    dropped: tuple[str, ...] = ()
    unfinished: tuple[Merge, ...] = ()
    terms: tuple[Term, ...] = ()
    merge_paces: tuple[MergePace, ...] = ()
    slot_seconds: tuple[float, ...] = ()
    work_seconds: tuple[float, ...] = ()
    fanouts: tuple[Fanout, ...] = ()
    check_costs: tuple[CheckCost, ...] = ()
    aggregate: AggregateState | None = None
    loads: tuple[Load, ...] = ()
    unit_pairs: tuple[float, ...] = ()
    pressures: tuple[Pressure, ...] = ()
    checked_ms: int | None = None
    order_state: OrderState | None = None
    slice_state: SliceState | None = None
    groups: GroupState | None = None
    sites: SiteState | None = None
    payloads: tuple[PayloadFile, ...] = ()
    payload_widths: tuple[float, ...] = ()
    payloads_apart: tuple[int, ...] = ()
    derivation: str | None = None
    key_counts: tuple[KeyCounts, ...] = ()
    number_samples: tuple[NumberSample, ...] = ()
    sort_orders: tuple[SortOrder, ...] = ()
    path_shares: tuple[PathShare, ...] = ()
    late_rows: tuple[int, ...] = ()
    owner: int = 0
    owned_since: int = 0
    planned: str | None = None
    progress: dict[str, Any] = field(default_factory=dict)

    @property
    def layout(self) -> Layout:
        """The layout new rows are stored under."""
        return self.layouts[-1]

    @property
    def pushes(self) -> tuple[Push, ...]:
        """The pushes of partition groups whose results are deferred."""
        return () if self.groups is None else self.groups.pushes


@dataclass(frozen=True)
class DeltaRecord:
    """What a step recorded before it was committed: its input blocks, its clock, its decisions.

    Ordered results up to `frontier_us` are emitted, or with `flush` all of them. `follows` is the run that committed
    the step before, `planned` identifies the rows that Spark planned for the batch. `ingest` is what the ingest tasks
    of each stream used. Fewer than `interleave` steps are unfinished after the step. `covers` say which copies lookups
    visit; that took `covering_seconds`. `read_under` is the layout before, if one was chosen after rows were read.
    `memory` is what the memory controllers recorded; with `sample_ends` their sampling interval ends before this step.
    The partition groups of `pushed` begin a new part with this step; deferred results of `cleaned` groups are found.
    `site_plan` has the lookups of each stream's rows between sites, `ingest_sent` what crossed links before them. Rows
    of the streams `payloads_apart` were stored apart from their `payloads`.
    """

    step: int
    batch: int
    run: str
    now_ms: int
    watermarks: tuple[int | None, ...]
    idle: tuple[bool, ...]
    layout: Layout
    join_orders: tuple[tuple[int, ...], ...]
    check_order: tuple[int, ...]
    blocks: tuple[Block, ...]
    newest: tuple[int | None, ...]
    input_rows: tuple[int, ...]
    late_rows: tuple[int, ...]
    late_files: tuple[Move, ...]
    next_row_id: int
    ingest: tuple[Usage, ...]
    adaptations: tuple[str, ...] = ()
    memory: MemoryHistory | None = None
    pushed: tuple[int, ...] = ()
    cleaned: tuple[int, ...] = ()
    sample_ends: bool = False
    pressures: tuple[Pressure, ...] = ()
    checked_ms: int | None = None
    frontier_us: int | None = None
    buffered_kind: Buffered = "results"
    flush: bool = False
    arrivals: tuple[Arrival, ...] = ()
    arrival_logs: tuple[ArrivalLog, ...] = ()
    key_counts: tuple[KeyCounts, ...] = ()
    number_samples: tuple[NumberSample, ...] = ()
    sort_orders: tuple[SortOrder, ...] = ()
    path_shares: tuple[PathShare, ...] = ()
    covers: tuple[Cover, ...] = ()
    covering_seconds: float = 0.0
    follows: str = ""
    read_under: Layout | None = None
    planned: str | None = None
    interleave: int = 1
    site_plan: SitePlan | None = None
    ingest_sent: tuple[Sent, ...] = ()
    payloads: tuple[PayloadFile, ...] = ()
    payload_widths: tuple[float, ...] = ()
    payloads_apart: tuple[int, ...] = ()
