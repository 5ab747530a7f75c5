"""The memory limit on Spark: which slots share an executor, and the smallest limit that its workers can obey."""

from __future__ import annotations

from pyspark.sql import SparkSession

from braid.engine.locations import Locations
from braid.engine.memory.floor import require_floor
from braid.placement.units import unit_count
from braid.plan.layout import Layout
from braid.plan.memory import MemoryLimit, TaskMemory
from braid.spark.session import is_one_host


def task_memory(spark: SparkSession, memory: MemoryLimit | None, layout: Layout, slots: int) -> TaskMemory | None:
    """What tasks of a run must know of its limit; StrategyError for one that they could not obey."""
    if memory is None:
        return None
    require_floor(memory, slots, unit_count(layout))
    return memory.for_tasks(slots, slots if is_one_host(spark) else _slots_of_executor(spark, slots))


def variables_of(locations: Locations) -> dict[str, str]:
    """What the workers of a run need in their environment.

    Arrow's own allocator keeps several times what it has in use, so under a limit it is replaced. A worker that has
    loaded Arrow can no longer do that for all of Arrow's functions.
    """
    return {} if locations.memory is None else {"ARROW_DEFAULT_MEMORY_POOL": "system"}


def _slots_of_executor(spark: SparkSession, slots: int) -> int:
    """The cores of an executor; where they are not configured, an even share of all."""
    configured = spark.sparkContext.getConf().get("spark.executor.cores")
    if configured:
        return min(slots, int(configured))
    # The driver is among the block managers that Spark lists.
    executors = int(spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size()) - 1
    return max(1, -(-slots // max(1, executors)))
