"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.in_order.replay import Pacing


@dataclass(frozen=True)
class Size:
    """Runs of the model with other arrivals and their length, at least `slow_rows` rows of the slower stream.

    On Spark pairs cost `costs` seconds while a row of the slower stream comes every first of `turns`; and it comes
    every other of them while pairs cost the middle one.
    """

    name: str
    seeds: int
    minutes: int
    slow_rows: int
    pacing: Pacing
    costs: tuple[float, ...]
    turns: tuple[float, ...]


SIZES = {
    "quick": Size(
        name="quick",
        seeds=2,
        minutes=20,
        slow_rows=100,
        pacing=Pacing(seconds=14.0, warm_up=6.0),
        costs=(0.00005, 0.0007, 0.0014),
        turns=(4.0, 2.0),
    ),
    "full": Size(
        name="full",
        seeds=8,
        minutes=20,
        slow_rows=400,
        pacing=Pacing(seconds=26.0, warm_up=12.0),
        costs=(0.00005, 0.0007, 0.0014),
        turns=(4.0, 8.0, 2.0),
    ),
}
