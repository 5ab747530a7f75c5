"""Ingest where sites have hosts: the streaming plan ends with pieces, which a batch job brings to the sites of streams.

A streaming plan cannot meet the anchor. So its tasks only cut rows into pieces for the slots; the job of the step
brings these to the slots, whose tasks store them, at the sites where the streams belong.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from braid.engine.commands import IngestCommand
from braid.engine.tasks.shuffle import PIECES, ShuffleTask, send_rows, store_rows
from braid.spark.ingest_plan import flat_rows
from braid.spark.sites.hosts import host_names
from braid.spark.sites.slot_pieces import SlotPieces, Talking, at_slots
from braid.spark.slot_functions import REPORT_SCHEMA
from braid.spark.task_context import current_task
from braid.spark.transport import map_batches, spark_schema

STREAM = "stream"
OF_STREAM = pa.schema([(STREAM, pa.int32()), *PIECES])


def ingest_pieces(talking: Talking, frames: Sequence[DataFrame]) -> DataFrame:
    """The pieces of all streams' rows, as one DataFrame, streaming if the inputs are."""
    schema = spark_schema(OF_STREAM)
    return reduce(
        DataFrame.unionByName,
        [
            map_batches(flat_rows(talking.plan, n, frame).coalesce(talking.slots), SendPieces(talking, n), schema)
            for n, frame in enumerate(frames)
        ],
    )


def store_at_sites(pieces: DataFrame, anchor: DataFrame, talking: Talking) -> DataFrame:
    """The job that stores a batch's pieces at their slots: its rows are reports."""
    return at_slots(pieces, anchor, talking, StorePieces(talking), REPORT_SCHEMA)


class SendPieces:
    """The function over a stream's rows."""

    def __init__(self, talking: Talking, stream: int) -> None:
        self._talking = talking
        self._stream = stream

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        talking = self._talking
        task, command, meter = current_task(IngestCommand, talking.locations)
        if talking.hosts is not None:
            names = " ".join(sorted(host_names(talking.hosts.driver)))
            task = replace(task, host=names)
        own = ShuffleTask(talking.plan, self._stream, talking.locations, talking.slots, command, task, meter)
        for batch in send_rows(own, batches):
            stream = pa.array([self._stream] * batch.num_rows, pa.int32())
            yield pa.RecordBatch.from_arrays([stream, *batch.columns], schema=OF_STREAM)


class StorePieces(SlotPieces):
    """The function over the pieces of a slot."""

    def run(self, slot: int, received: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        talking = self.talking
        task, command, meter = current_task(IngestCommand, talking.locations, slot=slot)
        talking.require_here(command.layout, slot)
        for stream in range(len(talking.plan.streams)):
            own = ShuffleTask(talking.plan, stream, talking.locations, talking.slots, command, task, meter)
            parts = [batch.filter(pc.equal(batch.column(STREAM), stream)).drop_columns([STREAM]) for batch in received]
            for text in store_rows(own, iter(parts)):
                yield pa.RecordBatch.from_pydict({"report": [text]}, schema=REPORT_SCHEMA)
