"""Commands: what the driver sends to the tasks of one job, as JSON in a local property of Spark.

A task's code and plan are fixed for a run; only its command changes from step to step. So one planned DataFrame serves
all steps.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from braid.control.merging import Merge
from braid.engine.row_ids import RowIds
from braid.placement.admission import NEVER, Admission
from braid.plan.layout import Layout
from braid.state.manifest import AggregateState, Block
from braid.state.order_state import RankIndexFile

PROPERTY = "braid.command"


@dataclass(frozen=True)
class IngestCommand:
    """Ingest the rows of a step, under these watermarks and by this layout.

    `newest_us` is the newest event time that rows of each stream may have; None: any. `row_ids` are the ids for rows
    of row-based windows.
    """

    step: int
    run: str
    watermarks: tuple[int | None, ...]
    layout: Layout
    newest_us: tuple[int | None, ...]
    row_ids: RowIds

    @staticmethod
    def from_json(content: dict[str, Any]) -> IngestCommand:
        return IngestCommand(
            content["step"],
            content["run"],
            tuple(content["watermarks"]),
            Layout.from_json(content["layout"]),
            tuple(content["newest_us"]),
            RowIds(**content["row_ids"]),
        )


@dataclass(frozen=True)
class ProbeCommand:
    """Join the rows of a step: run rounds `first_round` to `last_round` of every probe order.

    Probe orders end together, in the last round. `blocks` are all live blocks and the step's own; `exchanged` are the
    files of the previous round; `admission` says which rows start and what they see. `watched`: note the calls of
    users' functions, in a job that is retried because a worker died.
    """

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
    rank_indexes: tuple[RankIndexFile, ...] = ()
    aggregate_parts: int = 0
    watched: bool = False

    @property
    def rounds(self) -> int:
        """The number of rounds in all jobs of the step."""
        return max(len(order) for order in self.join_orders)

    @property
    def is_last(self) -> bool:
        """Whether no probe job follows."""
        return self.last_round == self.rounds - 1

    @staticmethod
    def from_json(content: dict[str, Any]) -> ProbeCommand:
        return ProbeCommand(
            step=content["step"],
            run=content["run"],
            admission=Admission(**content["admission"]),
            rank_indexes=_rank_indexes(content),
            layouts=tuple(Layout.from_json(layout) for layout in content["layouts"]),
            blocks=tuple(Block.from_json(block) for block in content["blocks"]),
            join_orders=tuple(tuple(order) for order in content["join_orders"]),
            merges=tuple(Merge(**{**merge, "files": tuple(merge["files"])}) for merge in content["merges"]),
            first_round=content["first_round"],
            last_round=content["last_round"],
            exchanged=tuple(content["exchanged"]),
            aggregate_parts=content["aggregate_parts"],
            watched=content["watched"],
        )


@dataclass(frozen=True)
class BufferedFrom:
    """A file of buffered rows; those up to `after_us` are already released."""

    file: str
    after_us: int


@dataclass(frozen=True)
class AggregateCommand:
    """Add the partial aggregates of a step to the aggregate state, and emit the changes.

    The generations in `compacted` are rewritten together with the step's own rows. `newest_us` is the newest result
    time including this step, where the driver knows it; rows older than `forget_us` are no longer needed. In its
    `first` update an aggregation without groups always emits its values. In order, only rows up to `until_us` count,
    and the unreleased rows of the files in `rewritten` are rewritten.
    """

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

    @staticmethod
    def from_json(content: dict[str, Any]) -> AggregateCommand:
        lists = {name: tuple(content[name]) for name in ("compacted", "rewritten")}
        partials = tuple(BufferedFrom(**buffered) for buffered in content["partials"])
        return AggregateCommand(
            **{**content, **lists, "partials": partials, "aggregate": AggregateState.from_json(content["aggregate"])}
        )


@dataclass(frozen=True)
class ReleaseCommand:
    """Emit buffered results up to `until_us` in order: slot n writes those between `cuts` n and n + 1.

    The unreleased rows of the files in `compacted` are rewritten.
    """

    step: int
    run: str
    blocks: tuple[BufferedFrom, ...]
    until_us: int
    cuts: tuple[int, ...]
    compacted: tuple[str, ...]

    @staticmethod
    def from_json(content: dict[str, Any]) -> ReleaseCommand:
        lists = {name: tuple(content[name]) for name in ("cuts", "compacted")}
        return ReleaseCommand(
            **{**content, **lists, "blocks": tuple(BufferedFrom(**buffered) for buffered in content["blocks"])}
        )


@dataclass(frozen=True)
class ArrivalLogFrom:
    """A file of a stream's arrival log; the rows up to `after_us` are already ranked."""

    stream: int
    file: str
    after_us: int


@dataclass(frozen=True)
class RankCommand:
    """Rank the rows up to `until_us`, after those of the `rank_indexes` up to `before_us`."""

    step: int
    run: str
    arrival_logs: tuple[ArrivalLogFrom, ...]
    rank_indexes: tuple[RankIndexFile, ...]
    before_us: int
    until_us: int

    @staticmethod
    def from_json(content: dict[str, Any]) -> RankCommand:
        arrival_logs = tuple(ArrivalLogFrom(**arrival_log) for arrival_log in content["arrival_logs"])
        return RankCommand(**{**content, "arrival_logs": arrival_logs, "rank_indexes": _rank_indexes(content)})


Command = IngestCommand | ProbeCommand | AggregateCommand | ReleaseCommand | RankCommand


def encode(command: Command) -> str:
    """The command as text, compressed to fit into a local property."""
    return base64.b85encode(zlib.compress(json.dumps(asdict(command)).encode(), 1)).decode()


def decode(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(text)))
    return content


def _rank_indexes(content: dict[str, Any]) -> tuple[RankIndexFile, ...]:
    return tuple(RankIndexFile(**rank_index) for rank_index in content["rank_indexes"])
