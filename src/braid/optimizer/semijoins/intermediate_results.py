"""Intermediate results, described like streams, so that the next join can start from them."""

from __future__ import annotations

from collections.abc import Sequence

from braid.optimizer.semijoins.statistics import JoinAttribute, StreamStatistics
from braid.optimizer.semijoins.value_classes import joined_attribute, matching_share


def joined(source: StreamStatistics, stored: StreamStatistics, site: str) -> StreamStatistics:
    """The intermediate result of a one-way join, produced at `site`.

    It has the columns of both, a row for each match, and only values that both have. It is stored nowhere, so it has
    no window.
    """
    matches = stored.window_rows * matching_share(source, stored)
    return StreamStatistics(
        name=f"{source.name}, {stored.name}",
        site=site,
        rows_per_second=source.rows_per_second * matches,
        row_bytes=source.row_bytes + stored.row_bytes,
        window_seconds=0.0,
        attributes=_of_both(source.attributes, stored.attributes),
        columns=source.columns + stored.columns,
    )


def _of_both(first: Sequence[JoinAttribute], second: Sequence[JoinAttribute]) -> tuple[JoinAttribute, ...]:
    found: dict[str, JoinAttribute] = {}
    for attribute in (*first, *second):
        known = found.get(attribute.name)
        found[attribute.name] = attribute if known is None else joined_attribute(known, attribute)
    return tuple(found[name] for name in sorted(found))
