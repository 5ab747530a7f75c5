"""Pieces that Spark's shuffle brings to slots, and tasks that take those of a slot, at its site."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from braid.engine.locations import Locations
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.spark.sites.hosts import SiteHosts
from braid.spark.transport import map_batches, spark_schema

SLOT = "slot"


@dataclass(frozen=True)
class Talking:
    """What tasks that exchange pieces know; `hosts` None: all sites are in one process."""

    plan: JoinPlan
    locations: Locations
    slots: int
    hosts: SiteHosts | None = None

    def require_here(self, layout: Layout, slot: int) -> None:
        """Refuse to run for a slot at another site."""
        if self.hosts is not None:
            self.hosts.require_here(layout, len(self.plan.streams), slot, self.slots)


class SlotPieces(ABC):
    """The function of tasks that take the pieces of slots."""

    def __init__(self, talking: Talking) -> None:
        self.talking = talking

    @abstractmethod
    def run(self, slot: int, received: list[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What becomes of the pieces of a slot."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        by_slot: dict[int, list[pa.RecordBatch]] = defaultdict(list)
        for batch in batches:
            for slot in batch.column(SLOT).unique().to_pylist():
                by_slot[slot].append(batch.filter(pc.equal(batch.column(SLOT), slot)))
        yield from chain.from_iterable(self.run(slot, pieces) for slot, pieces in sorted(by_slot.items()))


def at_slots(
    pieces: DataFrame, anchor: DataFrame, talking: Talking, function: SlotPieces, schema: pa.Schema
) -> DataFrame:
    """The pieces of each slot through a function, in a task of its own; where sites have hosts, at the slot's site."""
    # Before Spark 4.1 several slots may share a partition.
    has_ids = hasattr(pieces, "repartitionById")
    grouped = pieces.repartitionById(talking.slots, SLOT) if has_ids else pieces.repartition(talking.slots, SLOT)
    if talking.hosts is None:
        return map_batches(grouped, function, spark_schema(schema))

    def beside_anchor(received: pa.Table, own: pa.Table) -> pa.Table:
        slot = own.column(SLOT)[0].as_py()
        return pa.Table.from_batches(list(function.run(slot, received.to_batches())), schema)

    return grouped.groupBy(SLOT).cogroup(anchor.groupBy(SLOT)).applyInArrow(beside_anchor, spark_schema(schema))
