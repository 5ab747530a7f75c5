"""The exchange: how the rows that a step reads reach the slots that store them. Chosen once, when a run starts.

`files`: every ingest task writes one block, and every slot reads its part of each. `shuffle`: Spark's shuffle brings
the rows of a slot together, and the slot writes one block. With k slots, a step of `files` makes k writes and k × k
reads for each stream, one of `shuffle` k writes and k reads, but its rows pass through Spark twice. Requests to a
filesystem cost next to nothing; object stores charge for each, and answer after tens of milliseconds.

The exchange is no state: a step's record names the blocks that were written, and a restart may choose another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast

from braid.errors import SinkError
from braid.plan.join import JoinPlan
from braid.state.locations import is_object_store, scheme_of

Exchange = Literal["files", "shuffle"]
RequestedExchange = Literal["auto", "files", "shuffle"]
REQUESTS: tuple[RequestedExchange, ...] = ("auto", "files", "shuffle")


@dataclass(frozen=True)
class ChosenExchange:
    """The exchange of a run, and why."""

    kind: Exchange
    reason: str

    def describe(self) -> str:
        return f"{self.kind} ({self.reason})"


def read_exchange(given: str) -> RequestedExchange:
    """The value of the option `exchange`."""
    if given.lower() not in REQUESTS:
        raise SinkError(
            f"The option exchange is 'auto', 'files' or 'shuffle', but got {given!r}.",
            hint="Leave it out: the default 'auto' chooses 'shuffle' where the checkpoint is on an object store, and "
            "'files' elsewhere.",
        )
    return cast(RequestedExchange, given.lower())


def choose_exchange(
    requested: RequestedExchange, plan: JoinPlan, checkpoint: str, slots: int, located: bool = False
) -> ChosenExchange:
    """The requested exchange, or the one that makes fewer requests where requests are what costs.

    If slots are `located` at distant sites, rows reach them by a shuffle.
    """
    counted = ", ".join(plan.streams[number].name for number in sorted(plan.row_based))
    if located and (requested == "files" or counted):
        reason = f"the windows of {counted} count rows" if counted else "the option exchange is 'files'"
        raise SinkError(
            f"Rows reach the sites of their streams by a shuffle, but {reason}, which needs files that all hosts read.",
            hint="Use windows of time, and leave the option out.",
        )
    if located:
        return ChosenExchange("shuffle", "rows cross the links to the sites of their streams")
    if requested == "shuffle" and counted:
        raise SinkError(
            f"The option exchange is 'shuffle', but the windows of {counted} count rows: an ingest task numbers such "
            "rows by their place in its input, and a shuffle that runs the task again could number them differently.",
            hint="Use 'files', or leave the option out.",
        )
    if requested != "auto":
        return ChosenExchange(requested, "as the option exchange says")
    if not is_object_store(checkpoint):
        return ChosenExchange("files", "auto: the checkpoint is on a filesystem, where many small reads are cheap")
    if counted:
        return ChosenExchange("files", f"auto: the windows of {counted} count rows")
    if slots == 1:
        return ChosenExchange("files", "auto: there is one slot, so a shuffle would save no requests")
    return ChosenExchange(
        "shuffle",
        f"auto: on {scheme_of(checkpoint)} a slot then reads 1 block of a step instead of {slots}",
    )
