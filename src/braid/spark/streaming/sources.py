"""The last check of the sources by Spark: its time, and which streams have unread rows.

Spark plans a batch from the offsets that its sources report. A source whose offset has moved has new rows. A source
that limits the rows of a batch may have more, unless it reports that it has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

from braid.control.idleness import SourceCheck
from braid.plan.join import JoinPlan

NEVER_MS = -1
# It reports the newest offset it has planned to read, which does not count the files beyond a limit.
SILENT_ABOUT_THE_REST = "FileStreamSource"


class Sources:
    """The sources of a running query, as its streams read them."""

    def __init__(self, query: Any, frames: Sequence[DataFrame]) -> None:
        self._execution = query._jsq.streamingQuery()
        self._leaves = [_streaming_leaves(frame) for frame in frames]
        self._trigger = (NEVER_MS, NEVER_MS)  # the batch and the start of the trigger seen last

    def planned(self, batch: int) -> SourceCheck:
        """The check by which the current batch was planned; if an earlier run planned it, of that time."""
        try:
            context = self._execution.getLatestExecutionContext()
            if context.batchId() != batch:
                return self._unknown()
            began, planned = context.currentTriggerStartTimestamp(), context.offsetSeqMetadata().batchTimestampMs()
            return SourceCheck(min(began, planned), self._unread(context))
        except Py4JError:  # unknown does not mean idle
            return self._unknown()

    def between_batches(self) -> SourceCheck:
        """The last check that found nothing to read, if no batch was planned after it.

        A trigger has found nothing if it ended and no batch followed, or if another one began for the same batch.
        """
        try:
            context = self._execution.getLatestExecutionContext()
            before, self._trigger = self._trigger, (context.batchId(), context.currentTriggerStartTimestamp())
            status = context.currentStatus()
            if status.isDataAvailable():
                return self._unknown()
            if status.isTriggerActive() and (before[0] != self._trigger[0] or before[1] == self._trigger[1]):
                return self._unknown()
            empty = before if status.isTriggerActive() else self._trigger
            return SourceCheck(empty[1], self._unread(context))
        except Py4JError:
            return self._unknown()

    def _unread(self, context: Any) -> tuple[bool, ...]:
        sources = self._execution.sources()
        return self._by_stream([self._has_unread(context, sources.apply(n)) for n in range(sources.size())])

    def _has_unread(self, context: Any, source: Any) -> bool:
        start, end, latest = (
            _text(offsets.get(source))
            for offsets in (context.startOffsets(), context.endOffsets(), context.latestOffsets())
        )
        if latest is not None and latest != end:
            return True
        limit = self._execution.uniqueSources().get(source)
        unlimited = limit.isDefined() and limit.get().getClass().getSimpleName() == "ReadAllAvailable"
        reports = latest is not None and source.getClass().getSimpleName() != SILENT_ABOUT_THE_REST
        return start != end and not unlimited and not reports

    def _by_stream(self, unread: list[bool]) -> tuple[bool, ...]:
        """Per stream instead of per source: the sources of the first stream come first."""
        if sum(self._leaves) != len(unread):
            return (any(unread),) * len(self._leaves)
        found, place = [], 0
        for leaves in self._leaves:
            found.append(any(unread[place : place + leaves]))
            place += leaves
        return tuple(found)

    def _unknown(self) -> SourceCheck:
        return _nothing_known(len(self._leaves))


def nothing_known(plan: JoinPlan) -> SourceCheck:
    """No check of the sources: no stream is idle."""
    return _nothing_known(len(plan.streams))


def _nothing_known(streams: int) -> SourceCheck:
    return SourceCheck(NEVER_MS, (True,) * streams)


def _text(offset: Any) -> str | None:
    """An offset as the text that Spark would log; None if there is none."""
    return str(offset.get().json()) if offset.isDefined() and offset.get() is not None else None


def _streaming_leaves(frame: DataFrame) -> int:
    leaves = frame._jdf.queryExecution().analyzed().collectLeaves()
    return sum(bool(leaves.apply(number).isStreaming()) for number in range(leaves.size()))
