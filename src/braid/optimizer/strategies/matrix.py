"""Matrix: rows and columns of units; a row of one stream is stored along a row, one of the other along a column.

Any two rows of the two streams meet in exactly one unit, on any predicate, at the price of copies: it is the scheme
that a biclique is measured against.
"""

from __future__ import annotations

from dataclasses import dataclass

from braid.errors import StrategyError
from braid.optimizer.strategies.strategy import require_positive
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout


@dataclass(frozen=True)
class Matrix:
    """`rows` units are side by side for the first stream, `columns` for the second."""

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
