"""Orders: what the driver tells the tasks of one job, as JSON in a local property of Spark's.

A task's code and plan are fixed for a run; only its order changes from step to step, so one planned DataFrame
serves all steps.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from braid.control.merging import Merge
from braid.placement.admission import NEVER, Admission
from braid.plan.layout import Layout
from braid.state.manifest import AggregateState, Block
from braid.state.order_state import RankIndexFile

PROPERTY = "braid.order"


@dataclass(frozen=True)
class IngestCommand:
    """Take the rows of a step in: under these watermarks, spread by this layout.

    `newest_us` has the newest event time that rows of each stream may have, None: any.
    """

    step: int
    run: str
    watermarks: tuple[int | None, ...]
    layout: Layout
    newest_us: tuple[int | None, ...]

    @staticmethod
    def from_json(content: dict[str, Any]) -> IngestCommand:
        return IngestCommand(
            content["step"],
            content["run"],
            tuple(content["watermarks"]),
            Layout.from_json(content["layout"]),
            tuple(content["newest_us"]),
        )


@dataclass(frozen=True)
class ProbeCommand:
    """Join the rows of a step: look up `first_round` to `last_round` of every head's sequence.

    Sequences end together, in the last of all rounds. `blocks` are all live ones with the step's own; `carried` are
    the files of the round before; `admission` says which rows start and what they see. Calls of users' functions are
    `watched` in a job that a worker has died in.
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
        """How many there are in all jobs of the step."""
        return max(len(order) for order in self.join_orders)

    @property
    def is_last(self) -> bool:
        """Whether no job follows."""
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
    """A file that is held, of whose rows those up to `after_us` have left."""

    file: str
    after_us: int


@dataclass(frozen=True)
class AggregateCommand:
    """Add the partial summaries of a step to the view, and let out what changed.

    Generations in `absorbed` are written anew with the step's own. `newest_us` is the newest result time with this
    step's, where the driver knows it; what is older than `forget_us` is no longer needed. In its `first` update an
    aggregation without groups lets its values out, whatever they are. In order, only rows up to `until_us` count, and
    what stays of the partial summaries in `rewritten` is written anew.
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
    """Let held results up to `until_us` out in order: slot n writes those between the n-th and the next of the `cuts`.

    Of the files in `absorbed` what stays is written anew.
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
    """A file of a stream's rows, of which those up to `after_us` are ranked."""

    stream: int
    file: str
    after_us: int


@dataclass(frozen=True)
class RankCommand:
    """Rank the rows up to `until_us`, after those of the `rulers` up to `before_us`."""

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
    """The order as text small enough for a local property."""
    return base64.b85encode(zlib.compress(json.dumps(asdict(command)).encode(), 1)).decode()


def decode(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(text)))
    return content


def _rank_indexes(content: dict[str, Any]) -> tuple[RankIndexFile, ...]:
    return tuple(RankIndexFile(**rank_index) for rank_index in content["rank_indexes"])
