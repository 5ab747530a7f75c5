"""Hosts of sites: which slots landed on them, and the check in a task that it runs at its site.

Spark places the partitions of the anchor and prefers to run a slot's task where its partition is, but may run it
elsewhere. A task at the wrong site ends at once, having read nothing, and Spark runs it again.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, Row, SparkSession

from braid.errors import StrategyError
from braid.placement.sites import site_of
from braid.placement.units import units_by_slot
from braid.plan.layout import Layout
from braid.plan.site_names import Site
from braid.spark.transport import map_batches, spark_schema

PLACES = pa.schema([("slot", pa.int32()), ("host", pa.string())])
POLL_SECONDS = 0.2
# Executors that register while the anchor is placed get none of it.
PLACING_TRIES = 5
ANY_PORT = 9


class WrongSiteError(RuntimeError):
    """A task runs on a host of another site; Spark is to run it elsewhere."""


@dataclass(frozen=True)
class SiteHosts:
    """The sites of a join with their hosts. `driver` is the driver's address, towards which a host has its own name."""

    sites: tuple[Site, ...]
    driver: str

    def require_here(self, layout: Layout, streams: int, slot: int, slots: int) -> None:
        """In a task: refuse to run for a slot whose units are at another site."""
        names = host_names(self.driver)
        by_name = {site.name: site for site in self.sites}
        for unit in units_by_slot(layout, streams, slots)[slot]:
            site = by_name[layout.sites[site_of(layout, unit.number)].name]
            if names.isdisjoint(site.hosts):
                raise WrongSiteError(
                    f"A task of site {site.name}, whose hosts are {', '.join(site.hosts)}, was started on "
                    f"{', '.join(sorted(names))}. It has read nothing; Spark runs it again. If that does not help, the "
                    "hosts of the site have no free cores: raise spark.locality.wait or spark.task.maxFailures."
                )

    def site_of_host(self, names: frozenset[str]) -> int | None:
        """The site, by its number, of a host with these names; None: it is at none."""
        found = (number for number, site in enumerate(self.sites) if not names.isdisjoint(site.hosts))
        return next(found, None)


@lru_cache(maxsize=8)
def host_names(driver: str) -> frozenset[str]:
    """The names of this host: its own, and the address that it has towards the driver."""
    names = {socket.gethostname(), socket.getfqdn()}
    with suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((driver, ANY_PORT))  # sends nothing
        names.add(probe.getsockname()[0])
    return frozenset(names)


def wait_for_hosts(spark: SparkSession, sites: Sequence[Site], seconds: float) -> None:
    """Wait until every site has an executor; StrategyError if one has none in time."""
    until = time.monotonic() + seconds
    while True:
        present = executor_hosts(spark)
        missing = [site for site in sites if present.isdisjoint(site.hosts)]
        if not missing:
            return
        if time.monotonic() > until:
            raise _without_executors(missing, sorted(present))
        time.sleep(POLL_SECONDS)


def executor_hosts(spark: SparkSession) -> frozenset[str]:
    """The hosts of all executors, as Spark names them."""
    context: Any = spark.sparkContext
    found = context._jsc.sc().statusTracker().getExecutorInfos()
    return frozenset(str(info.host()) for info in found)


def place_anchor(make: Callable[[], DataFrame], sites: SiteHosts, slots: int) -> tuple[DataFrame, list[list[int]]]:
    """A persisted anchor with slots at every site, and the slots of each site, in their order."""
    found, rows = list[list[int]](), list[Row]()
    for _ in range(PLACING_TRIES):
        anchor = make().persist()
        rows = map_batches(anchor, _Place(sites.driver), spark_schema(PLACES)).collect()
        found = [[] for _ in sites.sites]
        for row in sorted(rows, key=lambda row: row["slot"]):
            site = sites.site_of_host(frozenset(row["host"].split()))
            if site is not None:
                found[site].append(row["slot"])
        if all(found):
            return anchor, found
        anchor.unpersist()
    hosts = sorted({row["host"] for row in rows})
    raise _without_executors([site for site, own in zip(sites.sites, found, strict=True) if not own], hosts)


class _Place:
    """Says where each partition of the anchor is."""

    def __init__(self, driver: str) -> None:
        self._driver = driver

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            pass
        context = TaskContext.get()
        slot = -1 if context is None else context.partitionId()
        yield pa.RecordBatch.from_pydict({"slot": [slot], "host": [" ".join(host_names(self._driver))]}, PLACES)


def _without_executors(sites: Sequence[Site], hosts: Sequence[str]) -> StrategyError:
    names = ", ".join(f"{site.name} ({', '.join(site.hosts)})" for site in sites)
    return StrategyError(
        f"No executor runs at the site {names}; executors are on {', '.join(hosts) or 'no host'}.",
        hint="Start workers on the hosts of every site, and name hosts as Spark does: by the names or addresses that "
        "its executors page shows.",
    )
