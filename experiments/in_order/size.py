"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.in_order.replay import Pacing


@dataclass(frozen=True)
class Size:
    """Runs of the model with other arrivals and their length, at least `slow_rows` rows of the slower stream.

    On Spark pairs cost `costs` while a row of the slower stream comes every four seconds, and 0.7 ms while it comes
    every `turns`.
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
        pacing=Pacing(seconds=16.0, warm_up=8.0),
        costs=(0.00005, 0.0014),
        turns=(4.0, 2.0),
    ),
    "full": Size(
        name="full",
        seeds=8,
        minutes=20,
        slow_rows=400,
        pacing=Pacing(seconds=40.0, warm_up=24.0),
        costs=(0.00005, 0.00035, 0.0014),
        turns=(8.0, 2.0),
    ),
}
