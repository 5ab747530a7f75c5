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
from braid.state.manifest import Block, View
from braid.state.waiting import RulerFile

PROPERTY = "braid.order"


@dataclass(frozen=True)
class IngestOrder:
    """Take the rows of a step in: under these watermarks, spread by this layout.

    `newest_us` has the newest event time that rows of each stream may have, None: any.
    """

    step: int
    run: str
    watermarks: tuple[int | None, ...]
    layout: Layout
    newest_us: tuple[int | None, ...]

    @staticmethod
    def from_json(content: dict[str, Any]) -> IngestOrder:
        return IngestOrder(
            content["step"],
            content["run"],
            tuple(content["watermarks"]),
            Layout.from_json(content["layout"]),
            tuple(content["newest_us"]),
        )


@dataclass(frozen=True)
class ProbeOrder:
    """Join the rows of a step: look up `first_round` to `last_round` of every head's sequence.

    Sequences end together, in the last of all rounds. `blocks` are all live ones with the step's own; `carried` are
    the files of the round before; `admission` says which rows start and what they see. Calls of users' functions are
    `watched` in a job that a worker has died in.
    """

    step: int
    run: str
    layouts: tuple[Layout, ...]
    blocks: tuple[Block, ...]
    orders: tuple[tuple[int, ...], ...]
    merges: tuple[Merge, ...]
    first_round: int
    last_round: int
    carried: tuple[str, ...]
    admission: Admission
    rulers: tuple[RulerFile, ...] = ()
    view_parts: int = 0
    watched: bool = False

    @property
    def rounds(self) -> int:
        """How many there are in all jobs of the step."""
        return max(len(order) for order in self.orders)

    @property
    def is_last(self) -> bool:
        """Whether no job follows."""
        return self.last_round == self.rounds - 1

    @staticmethod
    def from_json(content: dict[str, Any]) -> ProbeOrder:
        return ProbeOrder(
            step=content["step"],
            run=content["run"],
            admission=Admission(**content["admission"]),
            rulers=_rulers(content),
            layouts=tuple(Layout.from_json(layout) for layout in content["layouts"]),
            blocks=tuple(Block.from_json(block) for block in content["blocks"]),
            orders=tuple(tuple(order) for order in content["orders"]),
            merges=tuple(Merge(**{**merge, "files": tuple(merge["files"])}) for merge in content["merges"]),
            first_round=content["first_round"],
            last_round=content["last_round"],
            carried=tuple(content["carried"]),
            view_parts=content["view_parts"],
            watched=content["watched"],
        )


@dataclass(frozen=True)
class HeldFrom:
    """A file that is held, of whose rows those up to `after_us` have left."""

    file: str
    after_us: int


@dataclass(frozen=True)
class ViewOrder:
    """Add the partial summaries of a step to the view, and let out what changed.

    Generations in `absorbed` are written anew with the step's own. `newest_us` is the newest result time with this
    step's, where the driver knows it; what is older than `forget_us` is no longer needed. In its `first` update an
    aggregation without groups lets its values out, whatever they are. In order, only rows up to `until_us` count, and
    what stays of the partial summaries in `rewritten` is written anew.
    """

    step: int
    run: str
    view: View
    partials: tuple[HeldFrom, ...]
    absorbed: tuple[int, ...]
    newest_us: int | None
    forget_us: int | None
    first: bool = False
    until_us: int = NEVER
    rewritten: tuple[str, ...] = ()

    @staticmethod
    def from_json(content: dict[str, Any]) -> ViewOrder:
        lists = {name: tuple(content[name]) for name in ("absorbed", "rewritten")}
        partials = tuple(HeldFrom(**held) for held in content["partials"])
        return ViewOrder(**{**content, **lists, "partials": partials, "view": View.from_json(content["view"])})


@dataclass(frozen=True)
class ReleaseOrder:
    """Let held results up to `until_us` out in order: slot n writes those between the n-th and the next of the `cuts`.

    Of the files in `absorbed` what stays is written anew.
    """

    step: int
    run: str
    blocks: tuple[HeldFrom, ...]
    until_us: int
    cuts: tuple[int, ...]
    absorbed: tuple[str, ...]

    @staticmethod
    def from_json(content: dict[str, Any]) -> ReleaseOrder:
        lists = {name: tuple(content[name]) for name in ("cuts", "absorbed")}
        return ReleaseOrder(**{**content, **lists, "blocks": tuple(HeldFrom(**held) for held in content["blocks"])})


@dataclass(frozen=True)
class RollFrom:
    """A file of a stream's rows, of which those up to `after_us` are ranked."""

    stream: int
    file: str
    after_us: int


@dataclass(frozen=True)
class RankOrder:
    """Rank the rows up to `until_us`, after those of the `rulers` up to `before_us`."""

    step: int
    run: str
    rolls: tuple[RollFrom, ...]
    rulers: tuple[RulerFile, ...]
    before_us: int
    until_us: int

    @staticmethod
    def from_json(content: dict[str, Any]) -> RankOrder:
        rolls = tuple(RollFrom(**roll) for roll in content["rolls"])
        return RankOrder(**{**content, "rolls": rolls, "rulers": _rulers(content)})


Order = IngestOrder | ProbeOrder | ViewOrder | ReleaseOrder | RankOrder


def encode(order: Order) -> str:
    """The order as text small enough for a local property."""
    return base64.b85encode(zlib.compress(json.dumps(asdict(order)).encode(), 1)).decode()


def decode(text: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(zlib.decompress(base64.b85decode(text)))
    return content


def _rulers(content: dict[str, Any]) -> tuple[RulerFile, ...]:
    return tuple(RulerFile(**ruler) for ruler in content["rulers"])
