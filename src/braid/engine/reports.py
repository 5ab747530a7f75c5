"""Reports: what tasks tell the driver, as JSON text.

An error that a retry cannot fix is reported as a `TaskFailure`, and raised on the driver.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from braid import errors
from braid.control.fanouts import LookupCounts
from braid.control.paths import RowSample
from braid.errors import BraidError
from braid.plan.typed_json import from_json, to_rows
from braid.state.blocks import WrittenBlock
from braid.state.manifest import Block, CheckCost
from braid.state.observed.samples import KeyCounts, NumberSample
from braid.state.order_state import ArrivalLog, RankIndexFile
from braid.state.paging.payload_files import PayloadFile
from braid.state.site_state import Sent, TupleFiles
from braid.state.slice_state import SliceLoad
from braid.state.usage import Usage, WorkerMemory

R = TypeVar("R")
FAILURE, REPORT = "failure", "report"


@dataclass(frozen=True)
class TaskFailure:
    """An error of a task: the name of its class in `braid.errors`, and its texts."""

    kind: str
    message: str
    detail: str
    hint: str


@dataclass(frozen=True, kw_only=True)
class TaskReport:
    """What every task reports: what it used, filled in when it is done; with a limit, what its worker then held."""

    usage: Usage = field(default_factory=Usage)
    memory: WorkerMemory | None = None


@dataclass(frozen=True)
class SlotReport(TaskReport):
    """The report of a slot's task."""

    slot: int


@dataclass(frozen=True)
class IngestReport(TaskReport):
    """What an ingest task read of a stream, and the files it wrote.

    `newest_us` is the newest event time that counts for the watermark. `kept` rows are stored; in ordered queries
    `times` is a sample of their event times; `numbers` is one of the numbers that rows are routed by, where a layout
    has ranges. `block` has rows of `units`; None: of any units; `copies` of them are not primary. With a shuffle, the
    task that reads the rows reports no block, and the task that stores those of a slot nothing else. `site_bytes` is
    what it sent to each site, where there are any. `payload_bytes` are those of the payloads of the kept rows, which
    are in the file `payload` if they are stored apart.
    """

    stream: int
    host: str
    rows: int = 0
    late_rows: int = 0
    kept: int = 0
    newest_us: int | None = None
    times: tuple[int, ...] = ()
    keys: KeyCounts = field(default_factory=KeyCounts)
    numbers: NumberSample = field(default_factory=NumberSample)
    sample: RowSample = field(default_factory=RowSample)
    block: WrittenBlock | None = None
    units: tuple[int, ...] | None = None
    copies: int = 0
    arrival_log: ArrivalLog | None = None
    late_file: str | None = None
    site_bytes: tuple[int, ...] = ()
    payload_bytes: int = 0
    payload: PayloadFile | None = None


@dataclass(frozen=True)
class UnitCounts:
    """What a unit stores, and what the lookups in it cost; `copies` of the stored rows are not primary."""

    epoch: int
    unit: int
    cpu: float
    stored_rows: int
    stored_bytes: int
    received_bytes: int
    probes: int
    compared: int
    matched: int
    windows_skipped: int
    visits: int
    copies: int = 0


@dataclass(frozen=True)
class GroupCount:
    """Of a partition group: the bytes stored, the rows that the step stored, and the results that it found.

    `size` is of its newest part, `pushed_rows` and `pushed_size` are of what this step has pushed.
    """

    group: int
    size: int
    inserted: int
    results: int
    pushed_rows: int = 0
    pushed_size: int = 0


@dataclass(frozen=True)
class HiddenRows:
    """Rows and bytes in segments that lookups open, of groups that they must not see."""

    rows: int = 0
    size: int = 0


@dataclass(frozen=True)
class ResultFile:
    """A file of results in staging."""

    name: str
    rows: int
    size: int


@dataclass(frozen=True)
class BufferedFile:
    """A block of buffered rows; `cuts` are result times that divide them evenly."""

    block: WrittenBlock
    cuts: tuple[int, ...] = ()


@dataclass(frozen=True)
class Output:
    """What became of a task's results: files in staging, buffered results, or partial aggregates.

    An ordered aggregation buffers its partial aggregates. `newest_us` is the newest result time, where it is needed.
    """

    results: int = 0
    files: tuple[ResultFile, ...] = ()
    buffered: BufferedFile | None = None
    partial: WrittenBlock | None = None
    newest_us: int | None = None


@dataclass(frozen=True)
class MergeReport:
    """A slot's part of the merge with this number: the rows it merged, the duration, and its blocks if they have rows.

    `apart` has the rows that were put apart.
    """

    number: int
    stream: int
    rows: int
    seconds: float
    block: Block | None
    apart: Block | None = None


@dataclass(frozen=True)
class ProbeReport(SlotReport):
    """The work of a slot in a probe job, and the blocks it wrote.

    `stored` are the step's own rows of its units, gathered; `merged` and `intermediate` rows, and those exchanged with
    the next round. `loads` are those of its units by stream, where there are time slices; `groups` the partition groups
    of its units, where there are any. `hidden` is what its lookups opened of pushed groups.
    """

    host: str
    units: tuple[UnitCounts, ...]
    lookups: tuple[LookupCounts, ...]
    stored: tuple[Block, ...]
    merged: tuple[MergeReport, ...]
    intermediate: tuple[Block, ...]
    checks: tuple[CheckCost, ...] = ()
    loads: tuple[SliceLoad, ...] = ()
    groups: tuple[GroupCount, ...] = ()
    hidden: HiddenRows = field(default_factory=HiddenRows)
    exchanged: WrittenBlock | None = None
    output: Output = field(default_factory=Output)


@dataclass(frozen=True)
class RoundsReport(SlotReport):
    """The work of a slot in a job with rounds of several terms: a report of each."""

    probes: tuple[ProbeReport, ...]


@dataclass(frozen=True)
class StreamCounts:
    """What a unit counted of the new rows of a stream of its site: rows, bytes, and distinct keys of each key part."""

    stream: int
    rows: int
    size: int
    distinct: tuple[int, ...]


@dataclass(frozen=True)
class SiteReport(SlotReport):
    """The work of a slot in one round of messages between sites.

    `probes` are the lookups of its units; `stored` the step's own rows of these; `copied` blocks of copies; `tables` as
    they are after the last round. By the clock of its host, it had its messages at `began_us` and was done at
    `ended_us`; None where no links are between sites.
    """

    round: int
    probes: tuple[ProbeReport, ...] = ()
    stored: tuple[Block, ...] = ()
    copied: tuple[Block, ...] = ()
    tables: tuple[TupleFiles, ...] = ()
    sent: tuple[Sent, ...] = ()
    counts: tuple[StreamCounts, ...] = ()
    began_us: int | None = None
    ended_us: int | None = None

    def with_unit(self, other: SiteReport) -> SiteReport:
        """This report and that of another unit of the slot."""
        return replace(
            self,
            probes=self.probes + other.probes,
            stored=self.stored + other.stored,
            copied=self.copied + other.copied,
            tables=self.tables + other.tables,
            sent=self.sent + other.sent,
            counts=self.counts + other.counts,
        )


@dataclass(frozen=True)
class AggregateReport(SlotReport):
    """A slot's new block of the aggregate state, and what it emits.

    In order, `released` has the rows that were due of each buffered file, and `kept` those of rewritten files that
    were not.
    """

    output: Output
    block: WrittenBlock | None
    released: dict[str, int] = field(default_factory=dict)
    kept: BufferedFile | None = None


@dataclass(frozen=True)
class ReleaseReport(SlotReport):
    """The results that a slot released: how many of each buffered file, and the rest of the compacted files."""

    output: Output
    released: dict[str, int]
    kept: BufferedFile | None


@dataclass(frozen=True)
class RankReport(SlotReport):
    """The rank indexes that a slot wrote."""

    rank_indexes: tuple[RankIndexFile, ...]


def report_text(report: object) -> str:
    return to_rows({FAILURE if isinstance(report, TaskFailure) else REPORT: report})


def read_reports(kind: type[R], texts: Iterable[str]) -> list[R]:
    """The reports of a job's tasks; raises the error of a task."""
    reports = []
    for content in json.loads(f"[{','.join(texts)}]"):
        if FAILURE in content:
            failure = from_json(TaskFailure, content[FAILURE])
            error: type[BraidError] = getattr(errors, failure.kind, BraidError)
            raise error(failure.message, failure.detail, failure.hint)
        reports.append(from_json(kind, content[REPORT]))
    return reports
