"""The four ways in which two rows can reach the two units that may join them: each gives exactly one result.

R is stored at one unit and probes another, and so is S; either unit may be told of either row first. In Braid a unit
is told of rows by steps, and of the rows of one step by blocks that all its tasks see alike; so the two orders that
lose or double a result elsewhere are forced here by running the units' tasks, and the streams' ingest, in either order.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.optimizer.strategies import Auto, Biclique, Matrix, Partitioned, Strategy
from braid.runtime.orders import IngestOrder, ProbeOrder
from braid.testing import Draft, InlineQuery
from braid.testing.expressions import equal, less_or_equal

R, S = "r", "s"
FOR_ANY_PREDICATE: list[Strategy] = [Auto(), Biclique((2, 2)), Matrix(2, 3)]
STRATEGIES: list[Strategy] = [
    *FOR_ANY_PREDICATE,
    Partitioned(3),
    Biclique((3, 4), (3, 2)),
    Biclique(routing="contrand"),
]
# Which rows a step brings, and in which order units work and streams are taken in.
ARRIVALS = {
    "r first at both units": [[R], [S]],
    "s first at both units": [[S], [R]],
    "each unit is told of its own row first": [[R, S]],
    "each unit is told of the other's row first": [[S, R]],
}


def one_row(key: int, at: int) -> pa.Table:
    return pa.table({"ts": pa.array([at], pa.timestamp("us", "UTC")), "k": [key]})


def turn_around(query: InlineQuery) -> None:
    """Let the last slot work first, and its report come first."""
    cluster: Any = query.cluster
    ingest, probe = cluster.ingest, cluster.probe

    def ingest_backwards(order: IngestOrder) -> list[dict[str, Any]]:
        return list(reversed(ingest(order)))

    def probe_backwards(order: ProbeOrder) -> list[dict[str, Any]]:
        run, waiting = cluster._run, []
        cluster._run = waiting.append
        probe(order)
        cluster._run = run
        return [run(work) for work in reversed(waiting)]

    cluster.ingest, cluster.probe = ingest_backwards, probe_backwards


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
    draft = Draft()
    r = draft.stream(R, {"k": "bigint"}, window_us=10, lateness_us=None)
    s = draft.stream(S, {"k": "bigint"}, window_us=10, lateness_us=None)
    draft.on(equal(r["k"], s["k"]) if predicate == "equality" else less_or_equal(r["k"], s["k"]))
    query = InlineQuery(draft.question(), str(tmp_path), strategy=strategy, slots=2)
    if backwards:
        turn_around(query)
    rows = {R: one_row(7, 3), S: one_row(7, 5)}
    for number, brought in enumerate(ARRIVALS[arrival]):
        query.run(number, {name: rows[name] for name in brought})
    assert query.published().num_rows == 1
