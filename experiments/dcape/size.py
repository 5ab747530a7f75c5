"""How large the runs are, modelled and on the engine: quick, or as long as the paper's."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Size:
    """The groups, the rows of a stream in a tuple range and in a second, the length of steps, and the seeds.

    Runs of the engine have `scale` of the rows, in ranges and in a second, and steps of `engine_step_seconds`: a row
    finds as many results, and a run takes some seconds. Runs with moves have steps of `move_step_seconds`.

    Runs whose workers are sampled have units of `limit_mb` each; those with much state `large_rows` of each stream.
    """

    name: str
    groups: int
    range_rows: int
    rows_a_second: float
    step_seconds: int
    seeds: int
    scale: float = 1.0
    engine_step_seconds: int = 60
    move_step_seconds: int = 60
    limit_mb: int = 24
    large_rows: int = 100_000
    large_steps: int = 20
    large_units: int = 4
    large_limit_mb: int = 24

    @property
    def engine(self) -> Size:
        """The same for runs of the engine."""
        rows = max(self.groups, round(self.scale * self.range_rows))
        return replace(
            self,
            range_rows=rows,
            rows_a_second=self.rows_a_second * rows / self.range_rows,
            step_seconds=self.engine_step_seconds,
        )

    @property
    def moving(self) -> Size:
        """The same for runs with moves, whose least time between two is some seconds."""
        return replace(self.engine, step_seconds=self.move_step_seconds)


SIZES = {
    "quick": Size("quick", groups=60, range_rows=6_000, rows_a_second=6.0, step_seconds=15, seeds=3, scale=0.2),
    # Tuples every 30 ms, in 300 partitions and tuple ranges of 30,000: the paper's.
    "full": Size(
        "full",
        groups=300,
        range_rows=30_000,
        rows_a_second=1000 / 30,
        step_seconds=5,
        seeds=3,
        scale=0.5,
        engine_step_seconds=60,
        move_step_seconds=15,
        limit_mb=24,
        large_rows=50_000_000,
        large_steps=200,
        large_limit_mb=256,
    ),
}
