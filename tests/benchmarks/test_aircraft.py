"""Generated aircraft positions: the same however they are cut, in the shape of ADS-B, with a checked answer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from benchmarks import aircraft
from benchmarks.workloads.aircraft import AIRPORTS, RECEIVED, SCHEMA, Flights


def test_the_rows_do_not_depend_on_how_they_are_cut() -> None:
    flights = Flights(20, 60)
    whole = flights.rows(0, 0, 60)
    assert whole == pa.concat_tables([flights.rows(0, 0, 25), flights.rows(0, 25, 35)]).combine_chunks()
    assert whole == Flights(20, 60).rows(0, 0, 60)
    assert whole != flights.rows(1, 0, 60)


def test_the_shape_is_that_of_positions() -> None:
    rows = Flights(200, 120).rows(0, 0, 120)
    assert rows.schema == SCHEMA
    assert abs(rows.num_rows / (200 * 120) - RECEIVED) < 0.02
    altitudes = rows.column("alt").to_numpy()
    cruising = altitudes > 30_000
    assert (altitudes % 25 == 0).all()
    assert 0.4 < cruising.mean() < 0.9
    assert 0.65 < (altitudes[cruising] % 1000 == 0).mean() < 0.8
    busiest = max(AIRPORTS, key=lambda airport: airport[2])
    near = np.abs(rows.column("lat").to_numpy() - busiest[0]) < 3
    assert near.mean() > 0.3


def test_braid_finds_what_duckdb_finds() -> None:
    flights = Flights(20, 60)
    batches = [{name: flights.rows(number, first, 30) for number, name in enumerate("ab")} for first in (0, 30)]
    found = aircraft.run_braid(batches)
    assert found == aircraft.count_in_duckdb(batches) > 1000
