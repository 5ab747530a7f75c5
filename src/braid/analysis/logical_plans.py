"""The nodes of a DataFrame's own plan, as Spark's analyzer made it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame


def plan_nodes(frame: DataFrame) -> Iterator[tuple[str, Any]]:
    """Every node with the simple name of its class, the root first."""
    pending = [frame._jdf.queryExecution().analyzed()]
    while pending:
        node = pending.pop()
        yield str(node.getClass().getSimpleName()), node
        children = node.children()
        pending += [children.apply(number) for number in range(children.size())]
