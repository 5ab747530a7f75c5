"""Matrix: rows and columns of units; a row of one stream is stored along a row, one of the other along a column.

Any two rows of the two streams meet in exactly one unit, for any predicate, at the cost of copies. It is the baseline
of the biclique.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Matrix:
    """`rows` by `columns` units: the rows are for the first stream, the columns for the second."""

    rows: int | None = None
    columns: int | None = None

    def __post_init__(self) -> None:
        for name, count in (("rows", self.rows), ("columns", self.columns)):
            if count is not None:
                require_positive(f"Matrix({name}=...)", count)

    def layout(self, plan: JoinPlan, slots: int) -> Layout:
        if len(plan.streams) != 2:
            raise StrategyError(
                f"The strategy Matrix joins two streams, but this join has {len(plan.streams)}.",
                hint="Use braid.Biclique(), which joins any number on any predicate.",
            )
        height = slots if self.rows is None else self.rows
        width = height if self.columns is None else self.columns
        return Layout(epoch=0, kind="matrix", units=(height, width), groups=(1, 1))

    def describe(self) -> str:
        given = (("rows", self.rows), ("columns", self.columns))
        return f"Matrix({', '.join(f'{name}={count}' for name, count in given if count is not None)})"
