"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.in_order.replay import Pacing


@dataclass(frozen=True)
class Size:
    """Runs of the model with other arrivals and their length, at least `slow_rows` rows of the slower stream.

    On Spark so many `rounds`: pairs cost `costs`, or `overload_cost`, while a row of the slower stream comes every two
    seconds, and 0.7 ms while it comes every `turns`; or so many `queries` run at once. `buffered_turns` are the rows of
    the slower stream in a window where what the engine buffers is counted.
    """

    name: str
    seeds: int
    minutes: int
    slow_rows: int
    buffered_turns: int
    rounds: int
    pacing: Pacing
    costs: tuple[float, ...]
    overload_cost: float
    turns: tuple[float, ...]
    queries: tuple[int, ...]


SIZES = {
    "quick": Size(
        name="quick",
        seeds=3,
        minutes=20,
        slow_rows=100,
        buffered_turns=6,
        rounds=1,
        pacing=Pacing(seconds=8.0, warm_up=4.0),
        costs=(0.00005, 0.0014),
        overload_cost=0.003,
        turns=(2.0, 1.6),
        queries=(1, 2),
    ),
    "full": Size(
        name="full",
        seeds=8,
        minutes=20,
        slow_rows=400,
        buffered_turns=30,
        rounds=3,
        pacing=Pacing(seconds=28.0, warm_up=16.0),
        costs=(0.00005, 0.00035, 0.0014),
        overload_cost=0.003,
        turns=(4.0, 1.6),
        queries=(1, 3),
    ),
}
