"""Rounds of messages between slots as one Spark job: each round is a tier of tasks, with a shuffle between two rounds.

Messages go from executor to executor, as binary values in Arrow's format. Reports of all rounds travel with them, each
to its own slot, and leave the job with the last round; so every slot has something to receive in every round. Where
sites have hosts, the messages of a slot meet its partition of the anchor, and Spark prefers to run its task there.
Spark keeps what a shuffle has written as long as its DataFrame lives: each conversation has a new one, or it would
receive the messages of the one before.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame

from braid.engine.commands import SiteCommand
from braid.engine.reports import SiteReport, report_text
from braid.engine.tasks.functions import sink_of
from braid.engine.tasks.metering import run_metered_round
from braid.engine.tasks.sites.messages import PIECES, report_piece, split_reports
from braid.engine.tasks.sites.rounds import run_site_round
from braid.engine.tasks.task import SlotTask
from braid.spark.sites.slot_pieces import SlotPieces, Talking, at_slots
from braid.spark.slot_functions import REPORT_SCHEMA, read_anchor
from braid.spark.task_context import current_task, own_partition
from braid.spark.transport import map_batches, spark_schema


def conversation(anchor: DataFrame, talking: Talking, rounds: int) -> DataFrame:
    """The job of so many rounds: its rows are the reports of all of them."""
    frame = map_batches(anchor, FirstRound(talking), spark_schema(PIECES))
    for number in range(1, rounds):
        last = number == rounds - 1
        function = RoundFunction(talking, number, last)
        frame = at_slots(frame, anchor, talking, function, REPORT_SCHEMA if last else PIECES)
    return frame


class RoundFunction(SlotPieces):
    """A round at a slot: with the messages that came to it."""

    def __init__(self, talking: Talking, number: int, last: bool) -> None:
        super().__init__(talking)
        self._round = number
        self._last = last

    def run(self, slot: int, received: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        talking = self.talking
        task, command, meter = current_task(SiteCommand, talking.locations, talking.slots, slot)
        talking.require_here(command.layout, slot)
        began_us = time.time_ns() // 1000
        pieces, texts = split_reports(received)
        own = SlotTask(talking.plan, talking.locations, talking.slots, task)
        work = partial(run_site_round, own, command, self._round, pieces, sink_of(talking.plan))
        sent, report = run_metered_round(meter, work)
        if isinstance(report, SiteReport) and talking.hosts is not None:
            report = replace(report, began_us=began_us, ended_us=time.time_ns() // 1000)
        texts.append(report_text(report))
        if self._last:
            yield pa.RecordBatch.from_pydict({"report": texts}, schema=REPORT_SCHEMA)
            return
        yield from sent
        yield report_piece(slot, texts)


class FirstRound:
    """The first round, at the slot of a partition of the anchor."""

    def __init__(self, talking: Talking) -> None:
        self._round = RoundFunction(talking, 0, False)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read_anchor(batches)
        yield from self._round.run(own_partition(), [])
