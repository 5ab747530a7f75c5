"""What a run runs, as collected by the writer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from braid.control.elasticity import Elasticity
from braid.control.ordering import Ordering
from braid.optimizer.exchange import RequestedExchange
from braid.optimizer.strategies import Strategy
from braid.plan.logical import LogicalPlan
from braid.plan.memory import MemoryLimit
from braid.spark.sinks.choice import ChosenSink


@dataclass(frozen=True)
class Job:
    """The query, how it is executed, where it is stored, and when it runs."""

    logical_plan: LogicalPlan
    strategy: Strategy
    elasticity: Elasticity | None
    ordering: Ordering | None
    flush_at_end: bool
    frames: Sequence[DataFrame]
    checkpoint: str
    sink: ChosenSink
    trigger: dict[str, Any]
    name: str | None
    retention_ms: int
    accept_changed_functions: bool = False
    exchange: RequestedExchange = "auto"
    memory: MemoryLimit | None = None
