"""How large the experiments are: quick, to be run often, or full, for the page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """In the model: the lengths of rings, the seconds in which rows come, and the runs with other arrivals.

    With the engine: the rows of each stream in a window, the rows of a step, and the steps that are counted after the
    windows have filled.
    """

    name: str
    nodes: tuple[int, ...]
    seconds: float
    seeds: int
    adaptation_seconds: float
    rounds: int
    window_rows: int
    counted_steps: int
    units: tuple[int, ...]


SIZES = {
    "quick": Size(
        name="quick",
        nodes=(4, 7, 10, 14, 19),
        seconds=1.5,
        seeds=3,
        adaptation_seconds=30.0,
        rounds=3,
        window_rows=60,
        counted_steps=3,
        units=(4, 8),
    ),
    "full": Size(
        name="full",
        nodes=tuple(range(4, 20)),
        seconds=5.0,
        seeds=3,
        adaptation_seconds=60.0,
        rounds=3,
        window_rows=240,
        counted_steps=6,
        units=(4, 8, 14, 19),
    ),
}
