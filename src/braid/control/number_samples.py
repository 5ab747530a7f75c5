"""Samples of the numbers that rows are routed by: a bounded number of weighted points for each stream.

A point stands for rows with about the same number. It also has what such rows reach of another stream, so that the
pairs of each range can be estimated. A number with many rows is a point of its own.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from braid.state.observed.samples import NumberSample

POINT = np.dtype([("number", "<f8"), ("rows", "<f4"), ("lower", "<f8"), ("upper", "<f8")])
Points = npt.NDArray[np.void]
# As stored: the number, the rows, and the distances of both ends of what is reached.
BYTES_OF_A_POINT = 8 + 3 * 4

# About four points for each of 64 ranges: a boundary is then off by at most a quarter of a range.
KEPT_POINTS = 256
# Points of a step lose a tenth of their weight with every later step, so ranges follow the data within about ten steps.
DECAY = 0.9


def make_points(
    numbers: npt.NDArray[np.float64],
    rows: float,
    lower: npt.NDArray[np.float64] | None,
    upper: npt.NDArray[np.float64] | None,
) -> Points:
    """Points of equal weight that stand for `rows` rows together. What is not finite has the number infinity."""
    points = np.zeros(len(numbers), POINT)
    points["number"] = np.where(np.isfinite(numbers), numbers, np.inf)
    points["rows"] = rows / max(1, len(numbers))
    points["lower"] = np.nan if lower is None else lower
    points["upper"] = np.nan if upper is None else upper
    return points


def to_sample(points: Points, most: int = KEPT_POINTS) -> NumberSample:
    """The points as a sample of at most about `most` points."""
    if not len(points):
        return NumberSample()
    kept = _reduce(points, most)
    # What a row reaches is mostly as far from its number as with every other row: distances compress to nothing.
    with np.errstate(all="ignore"):
        distances = [(kept[end] - kept["number"]).astype("<f4").tobytes() for end in ("lower", "upper")]
    columns = b"".join([kept["number"].tobytes(), kept["rows"].tobytes(), *distances])
    text = base64.b64encode(zlib.compress(columns, 1)).decode()
    return NumberSample(float(kept["rows"].sum()), text)


def points_of(sample: NumberSample) -> Points:
    """The points of a sample, by number; what they reach is rounded to seven digits of the distance."""
    if not sample.points:
        return np.zeros(0, POINT)
    columns = zlib.decompress(base64.b64decode(sample.points))
    points = np.zeros(len(columns) // BYTES_OF_A_POINT, POINT)
    points["number"] = np.frombuffer(columns, "<f8", len(points))
    rows, below, above = np.split(np.frombuffer(columns, "<f4", offset=8 * len(points)), 3)
    points["rows"] = rows
    # A row without a number reaches from infinity to infinity: such a sum is no number, and bounds nothing.
    with np.errstate(all="ignore"):
        points["lower"], points["upper"] = points["number"] + below, points["number"] + above
    return points


def add_samples(before: NumberSample, sampled: Iterable[NumberSample]) -> NumberSample:
    """Earlier points decay, and those of a step's tasks are added; without new rows nothing changes."""
    new = [points_of(sample) for sample in sampled if sample.points]
    if not new:
        return before
    earlier = points_of(before).copy()
    earlier["rows"] *= DECAY
    return to_sample(np.concatenate([earlier, *new]))


def group_starts(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Where each distinct number begins, among sorted ones."""
    return np.flatnonzero(np.append(len(numbers) > 0, numbers[1:] != numbers[:-1]))


def _reduce(points: Points, most: int) -> Points:
    """Points by number: those of one number become one, and so do neighbours that together have a small weight."""
    points = points[np.argsort(points["number"], kind="stable")]
    points = _combine(points, group_starts(points["number"]))
    if len(points) <= most:
        return points
    share = points["rows"].sum(dtype=np.float64) / most
    place = np.floor(np.cumsum(points["rows"], dtype=np.float64) / share)
    # A number with many rows stays a point of its own, and so does what is not finite.
    alone = (points["rows"] > share) | ~np.isfinite(points["number"])
    begins = alone | (np.diff(place, prepend=-1) != 0)
    begins[1:] |= alone[:-1]
    return _combine(points, np.flatnonzero(begins))


def _combine(points: Points, edges: npt.NDArray[np.int64]) -> Points:
    """One point for each group of neighbours, in the middle of their rows, with the rows of all."""
    combined: Points = points[edges].copy()
    weights = points["rows"].astype(np.float64)
    totals = np.add.reduceat(weights, edges)
    several = combined["number"] != points["number"][np.append(edges[1:], len(points)) - 1]
    for name in ("number", "lower", "upper") if several.any() else ():
        with np.errstate(all="ignore"):
            means = np.add.reduceat(points[name] * weights, edges) / totals
        combined[name] = np.where(several & np.isfinite(means), means, combined[name])
    combined["rows"] = totals
    return combined
