"""Ranges: routes by one number of a stream, and which of them a probing row may have partners in.

Route n of a side has the rows whose number is in its n-th range. Rows without a place on the number line (NULL, NaN,
infinities) have a route of their own after the last range, at its units: every probing row visits it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from braid.plan.layout import Layout


class Span(NamedTuple):
    """The numbers of a range: from `low` to below `high`."""

    low: float
    high: float


def routes_by_number(boundaries: Sequence[float], numbers: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The route of each number; NaN stands for a number that is not finite."""
    values = numbers.astype(np.float64)
    routes = np.searchsorted(np.array(boundaries, np.float64), values, side="right").astype(np.int64)
    without_place = ~np.isfinite(values)
    if without_place.any():
        routes[without_place] = len(boundaries) + 1
    return routes


def span_of(layout: Layout, stream: int, route: int) -> Span | None:
    """The numbers that are stored under a route; None: any."""
    if layout.ranges is None:
        return None
    boundaries = layout.ranges[stream]
    if route > len(boundaries) or not boundaries:
        return None
    low = -np.inf if route == 0 else boundaries[route - 1]
    high = np.inf if route == len(boundaries) else boundaries[route]
    return Span(float(low), float(high))
