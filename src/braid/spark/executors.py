"""Requests for executors, where dynamic allocation lets their number change.

A request is optional: the query runs with any number of executors, and a refusal is only reported.
"""

from __future__ import annotations

import logging
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf
from pyspark.sql import SparkSession

from braid.control.executors import Allocation, executors_for
from braid.plan.layout import Layout

ENABLED = "spark.dynamicAllocation.enabled"
LEAST = "spark.dynamicAllocation.minExecutors"
MOST = "spark.dynamicAllocation.maxExecutors"
CORES = "spark.executor.cores"
TASK_CORES = "spark.task.cpus"
UNLIMITED = 2**31 - 1


def request_executors(spark: SparkSession, layout: Layout) -> str | None:
    """Request as many executors as a layout can use; the outcome, None where Spark decides alone."""
    conf = spark.sparkContext.getConf()
    if conf.get(ENABLED, "false") != "true":
        return None
    wanted = executors_for(layout, read_allocation(conf))
    try:
        refusal = None if request_total(spark, wanted) else "the cluster manager did not take the request"
    except Py4JError as error:
        refusal = str(error).splitlines()[0]
    if refusal is None:
        return f"asks Spark for {wanted} executors, a core for each unit of the largest side"
    logging.getLogger(__name__).warning("Spark was asked for %d executors without effect: %s", wanted, refusal)
    return f"asked Spark for {wanted} executors without effect: {refusal}"


def read_allocation(conf: SparkConf) -> Allocation:
    """The bounds that the session is configured with."""
    cores, task_cores = (int(conf.get(name, "1") or 1) for name in (CORES, TASK_CORES))
    least, most = int(conf.get(LEAST, "0") or 0), int(conf.get(MOST, str(UNLIMITED)) or UNLIMITED)
    return Allocation(max(1, cores // task_cores), least, None if most == UNLIMITED else most)


def request_total(spark: SparkSession, executors: int) -> bool:
    """Send the number of executors to the cluster manager; whether it accepted the request."""
    context: Any = spark.sparkContext
    nowhere = context._jvm.PythonUtils.toScalaMap({})
    return bool(context._jsc.sc().requestTotalExecutors(executors, 0, nowhere))
