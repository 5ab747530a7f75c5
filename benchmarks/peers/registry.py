"""The systems by the names that tasks use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from benchmarks.peers.at_once import run_polars
from benchmarks.peers.braid import run_braid
from benchmarks.peers.duckdb import run_duckdb, run_duckdb_tuned
from benchmarks.peers.noop import run_noop
from benchmarks.peers.outside import run_flink, run_pathway
from benchmarks.peers.spark import STORES, run_spark
from benchmarks.peers.streaming import Announce, Places
from benchmarks.tasks import Measurement, Task

Run = Callable[[Task, Places, Announce], Measurement]


def _with_store(store: str) -> Run:
    def run(task: Task, places: Places, announce: Announce) -> Measurement:
        return run_spark(replace(task, settings={**STORES[store], **task.settings}), places, announce)

    return run


PEERS: dict[str, Run] = {
    "Braid": run_braid,
    "Spark": _with_store("default"),
    "Spark RocksDB": _with_store("rocksdb"),
    "Spark v4": _with_store("v4"),
    "Spark no-op": run_noop,
    "Flink": run_flink,
    "Pathway": run_pathway,
    "DuckDB": run_duckdb,
    "DuckDB tuned": run_duckdb_tuned,
    "Polars": run_polars,
}
