"""The four ways in which two rows can reach the two units that may join them: each gives exactly one result.

R is stored at one unit and probes another, and so is S; either unit may learn of either row first. In Braid a unit
learns of rows by steps, and of the rows of one step by blocks that all its tasks see alike. So the two orders that lose
or double a result elsewhere are forced here by running the units' tasks, and the streams' ingest, in either order. Each
unit has a slot of its own, or the two rows might share one, and nothing would be forced.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.engine.commands import IngestCommand
from braid.engine.reports import IngestReport
from braid.optimizer.strategies import AlignedRouting, Auto, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy
from braid.placement.units import slot_of, units_of
from braid.plan.logical import LogicalPlan
from braid.state.blocks import BlockReader
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal, less_or_equal

R, S = "r", "s"
SLOTS, KEY = 4, 7
FOR_ANY_PREDICATE: list[Strategy] = [
    Auto(),
    Biclique((2, 2)),
    Matrix(2, 3),
    AlignedRouting("5 us", 3),
    CoordinatedRouting(2),
]
STRATEGIES: list[Strategy] = [
    *FOR_ANY_PREDICATE,
    Partitioned(3),
    Biclique((3, 4), (3, 2)),
    Biclique(routing="contrand"),
]
# Which rows a step brings, and in which order streams are taken in.
ARRIVALS = {
    "r first at both units": [[R], [S]],
    "s first at both units": [[S], [R]],
    "each unit reads its own row first": [[R, S]],
    "each unit reads the other's row first": [[S, R]],
}


def rows_of(keys: list[int], at: int) -> pa.Table:
    return pa.table({"ts": pa.array([at] * len(keys), pa.timestamp("us", "UTC")), "k": keys})


def turn_around(query: InlineQuery) -> None:
    """Let the last slot work first, and its report come first."""
    cluster: Any = query.cluster
    ingest = cluster.ingest

    def ingest_backwards(command: IngestCommand) -> list[IngestReport]:
        return list(reversed(ingest(command)))

    cluster.ingest = ingest_backwards
    cluster.slot_order = lambda: range(SLOTS)[::-1]


def watch(query: InlineQuery) -> tuple[list[str], list[int]]:
    """The streams in the order they are ingested, and the slots in the order they work, as they come."""
    cluster: Any = query.cluster
    take, run_slot = cluster._take, cluster._slot
    taken_in: list[str] = []
    worked: list[int] = []

    def taking(command: IngestCommand, stream: int, *rest: Any) -> IngestReport:
        taken_in.append((R, S)[stream])
        report: IngestReport = take(command, stream, *rest)
        return report

    def working(function: Any, kind: Any, text: str, slot: int, attempt: int) -> Any:
        worked.append(slot)
        return run_slot(function, kind, text, slot, attempt)

    cluster._take, cluster._slot = taking, working
    return taken_in, worked


def slots_of_matching_rows(query: InlineQuery) -> list[int]:
    """The slots that store the rows with the key that matches, as the blocks have them."""
    manifest, files = query.steps.manifest, query.checkpoint.files
    units = {unit.number: unit for unit in units_of(manifest.layout, 2)}
    found = []
    for block in manifest.blocks:
        reader = BlockReader(files.map(f"{query.checkpoint.path}/blocks/{block.file}"), block.file)
        for segment in reader.segments_of():
            keys = reader.batch(segment).column(f"{(R, S)[block.stream]}.k").to_pylist()
            found += [slot_of(units[segment.unit], SLOTS)] * keys.count(KEY)
    return found


@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
@pytest.mark.parametrize(
    ("strategy", "predicate"),
    [(strategy, "equality") for strategy in STRATEGIES] + [(strategy, "theta") for strategy in FOR_ANY_PREDICATE],
    ids=lambda value: value if isinstance(value, str) else value.describe(),
)
@pytest.mark.parametrize("arrival", ARRIVALS)
def test_two_rows_that_match_are_joined_once(
    arrival: str, strategy: Strategy, predicate: str, backwards: bool, tmp_path: Path
) -> None:
    """Once with the row of s alone, once after one that matches nothing: where rows go round, in another unit."""
    slots = []
    for others in ([], [0]):
        query = InlineQuery(logical_plan(predicate), str(tmp_path / str(others)), strategy=strategy, slots=SLOTS)
        taken_in, worked = watch(query)
        if backwards:
            turn_around(query)
        rows = {R: rows_of([KEY], 3), S: rows_of([*others, KEY], 5)}
        for number, brought in enumerate(ARRIVALS[arrival]):
            query.run(number, {name: rows[name] for name in brought})
        assert query.published().num_rows == 1
        assert taken_in == [name for brought in ARRIVALS[arrival] for name in brought], "the order was not forced"
        order = range(SLOTS)[::-1] if backwards else range(SLOTS)
        assert worked == [*order] * (len(worked) // SLOTS), "the order was not forced"
        slots.append(slots_of_matching_rows(query))
    if strategy == Biclique((2, 2)):
        assert any(len(set(two)) == 2 for two in slots), f"the rows share a slot each time: {slots}"


def logical_plan(predicate: str) -> LogicalPlan:
    draft = Draft()
    r = draft.stream(R, {"k": "bigint"}, window_us=10, lateness_us=None)
    s = draft.stream(S, {"k": "bigint"}, window_us=10, lateness_us=None)
    draft.on(equal(r["k"], s["k"]) if predicate == "equality" else less_or_equal(r["k"], s["k"]))
    return draft.logical_plan()
