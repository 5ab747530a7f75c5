"""`python -m benchmarks.aircraft [minutes a batch] [batches]`: aircraft near each other, in batches of 5 minutes.

Positions that two receivers report within 5 seconds, 1,000 feet and 0.1 degrees of latitude of each other. Three ranges
could be searched, and a batch is sixty times as long as the window. All tasks run in one process (`InlineCluster`), so
that pairs and CPU seconds are those of the task functions alone. DuckDB counts the results of the same rows; if the
counts differ, the script fails.
"""

from __future__ import annotations

import sys
import tempfile
import time

import duckdb
import pyarrow as pa

from benchmarks.workloads.aircraft import Flights
from braid.plan.logical import LogicalPlan
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import constant, within

AIRCRAFT, SLOTS, WINDOW_US = 150, 2, 5_000_000
# DuckDB is given the window as cells of time, each joined with itself and its neighbours: it finds no such plan itself.
SQL = f"""
WITH cells AS (SELECT *, unnest([cell - 1, cell, cell + 1]) AS near
               FROM (SELECT *, epoch_us(ts) // {WINDOW_US} AS cell FROM b)),
     own AS (SELECT *, epoch_us(ts) // {WINDOW_US} AS cell FROM a)
SELECT count(*) FROM own a JOIN cells b ON a.cell = b.near
WHERE abs(a.alt - b.alt) <= 1000 AND abs(a.lat - b.lat) <= 0.1
AND abs(epoch_us(a.ts) - epoch_us(b.ts)) <= {WINDOW_US}
"""


def build_plan() -> LogicalPlan:
    draft = Draft()
    columns = {"icao24": "string", "lat": "double", "lon": "double", "alt": "int"}
    a, b = (draft.stream(name, columns, window_us=WINDOW_US, lateness_us=0) for name in "ab")
    draft.on(within(a["alt"], b["alt"], constant(1000, "int")))
    draft.on(within(a["lat"], b["lat"], constant(0.1, "double")))
    return draft.select(a=a["icao24"], b=b["icao24"], a_ts=a["ts"], b_ts=b["ts"]).logical_plan()


def run_braid(batches: list[dict[str, pa.Table]]) -> int:
    """All batches through Braid; the number of results."""
    clock, results = ManualClock(0), 0
    with tempfile.TemporaryDirectory() as directory:
        query = InlineQuery(
            build_plan(), directory, slots=SLOTS, ingest_tasks=SLOTS, clock=clock, rows_per_batch=10_000
        )
        for number, batch in enumerate(batches):
            began = time.process_time()
            progress = query.run(number, batch) or {}
            spent = time.process_time() - began
            compared = sum(unit["pairsCompared"] for unit in progress["units"])
            skipped = sum(unit["windowChecksSkipped"] for unit in progress["units"])
            results += progress["numOutputRows"]
            print(
                f"batch {number}: {progress['numInputRows']:,} rows, {compared:,} pairs compared, {spent:.2f} CPU s, "
                f"{progress['numOutputRows']:,} results, {skipped} window checks skipped",
                flush=True,
            )
            for adaptation in progress["adaptations"]:
                print(f"  {adaptation}", flush=True)
    return results


def count_in_duckdb(batches: list[dict[str, pa.Table]]) -> int:
    connection = duckdb.connect()
    for name in "ab":
        connection.register(name, pa.concat_tables([batch[name] for batch in batches]))
    began = time.process_time()
    (count,) = connection.execute(SQL).fetchone() or (0,)
    print(f"DuckDB, all rows at once: {time.process_time() - began:.2f} CPU s, {count:,} results", flush=True)
    return int(count)


def main(arguments: list[str]) -> None:
    minutes = int(arguments[0]) if arguments else 5
    count = int(arguments[1]) if len(arguments) > 1 else 3
    flights = Flights(AIRCRAFT, minutes * 60 * count)
    batches = [
        {name: flights.rows(receiver, minutes * 60 * number, minutes * 60) for receiver, name in enumerate("ab")}
        for number in range(count)
    ]
    began = time.process_time()
    found = run_braid(batches)
    print(f"Braid: {time.process_time() - began:.2f} CPU s, {found:,} results", flush=True)
    expected = count_in_duckdb(batches)
    if found != expected:
        sys.exit(f"the answers differ: {found:,} and {expected:,}")


if __name__ == "__main__":
    main(sys.argv[1:])
