"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """Seconds of event time that are counted after windows have filled, settings and queries of each kind.

    Of the values along an axis one in `every` is run, from the first on. `wire_rows` are those of a batch on the
    cluster, `speed_steps` the steps of a run that measures its links.
    """

    name: str
    every: int
    counted_seconds: float
    choice_batches: int
    choice_settings: int
    skewed_settings: int
    simulated_settings: int
    simulated_batches: int
    queries: int
    executed: int
    executed_batches: int
    flight_batches: int
    wire_rows: int
    speed_steps: int


SIZES = {
    "quick": Size(
        name="quick",
        every=4,
        counted_seconds=0.8,
        choice_batches=8,
        choice_settings=6,
        skewed_settings=3,
        simulated_settings=20,
        simulated_batches=40,
        queries=10,
        executed=1,
        executed_batches=4,
        flight_batches=3,
        wire_rows=1000,
        speed_steps=8,
    ),
    "full": Size(
        name="full",
        every=1,
        counted_seconds=1.2,
        choice_batches=16,
        choice_settings=200,
        skewed_settings=50,
        simulated_settings=200,
        simulated_batches=40,
        queries=100,
        executed=100,
        executed_batches=10,
        flight_batches=8,
        wire_rows=12_500,
        speed_steps=25,
    ),
}
