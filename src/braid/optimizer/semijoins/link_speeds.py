"""The bandwidth and latency of links, from how long rounds waited for what was sent to them.

A round at a site begins when all sites have ended the round before, Spark has started its tasks, and what was sent has
come. Over many rounds that time is a line in the bytes that were sent: its slope is the time of a byte. What is left at
no bytes is latency and Spark's own time, and rounds to which nothing was sent have only the latter. If the clocks of
hosts differ, all points of a direction move alike, so neither figure depends on them.

A figure counts once it is clear: many times its standard error. Until then it is what the user said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from braid.optimizer.semijoins.network import BITS_PER_BYTE, Link, Network
from braid.state.site_state import LinkObservation, PointSums

# A step has some rounds, so that a figure is made of about a hundred, and a link that changes is seen within as many.
DECAY = 0.95
LEAST_ROUNDS = 8.0
# In standard errors. A slope of noise is beyond four of them once in ten thousand searches for a plan.
CLEAR_SLOPE = 4.0
# A latency counts if two standard errors are less than this share of it, or less than so many seconds.
CLEAR_LATENCY, CLEAR_SECONDS = 0.25, 0.01


@dataclass(frozen=True)
class LinkSpeed:
    """What was measured of a link; None: not yet clear."""

    bytes_per_second: float | None = None
    latency_seconds: float | None = None


def links_after(known: Sequence[LinkObservation], seen: Iterable[LinkObservation]) -> tuple[LinkObservation, ...]:
    """Earlier observations decay, and those of a step are added."""
    sums = {
        (one.source, one.target): replace(one, sent=one.sent.decayed(DECAY), idle=one.idle.decayed(DECAY))
        for one in known
    }
    for one in seen:
        before = sums.get((one.source, one.target), LinkObservation(one.source, one.target))
        sums[one.source, one.target] = replace(before, sent=before.sent.plus(one.sent), idle=before.idle.plus(one.idle))
    return tuple(sums[way] for way in sorted(sums))


def measured_network(network: Network, known: Sequence[LinkObservation]) -> Network:
    """The network, with what was measured of its links in place of what was said of them."""
    links = dict(network.links)
    for (one, other), speed in measured_speeds(known).items():
        given = network.between(one, other)
        if given is not None:
            links[one, other] = _as_measured(given, speed)
    return Network(network.default, links)


def measured_speeds(known: Sequence[LinkObservation]) -> dict[tuple[str, str], LinkSpeed]:
    """By the names of two sites, in order: what both directions of a link say together, where anything is clear."""
    pairs: dict[tuple[str, str], list[LinkObservation]] = {}
    for one in known:
        pairs.setdefault((min(one.source, one.target), max(one.source, one.target)), []).append(one)
    found = {pair: _speed(ways) for pair, ways in pairs.items()}
    return {pair: speed for pair, speed in found.items() if speed != LinkSpeed()}


def _as_measured(given: Link, speed: LinkSpeed) -> Link:
    rate, latency = speed.bytes_per_second, speed.latency_seconds
    return Link(
        given.bandwidth if rate is None else f"{BITS_PER_BYTE * rate:.0f} bps",
        given.latency if latency is None else f"{1e6 * latency:.0f} us",
    )


def _speed(ways: Sequence[LinkObservation]) -> LinkSpeed:
    """Lines of one slope, with a height for each direction; the latency is the mean of both."""
    clear = [one for one in ways if one.sent.points >= LEAST_ROUNDS]
    spread = sum(_spread(one.sent) for one in clear)
    degrees = sum(one.sent.points - 1 for one in clear) - 1
    if spread <= 0 or degrees <= 0:
        return LinkSpeed()
    slope = sum(_joint(one.sent) for one in clear) / spread
    errors = sum(_errors(one.sent, slope) for one in clear) / degrees
    deviation = math.sqrt(errors / spread)
    rate = 1 / slope if slope > CLEAR_SLOPE * deviation and slope > 0 else None
    return LinkSpeed(rate, _latency(clear, max(slope, 0.0), errors, deviation))


def _latency(ways: Sequence[LinkObservation], slope: float, errors: float, deviation: float) -> float | None:
    """How much longer rounds wait that bytes were sent to, at no bytes."""
    known = [one for one in ways if one.idle.points >= LEAST_ROUNDS]
    if not known:
        return None
    heights, variances = [], []
    for one in known:
        sent, idle = one.sent, one.idle
        heights.append((sent.y - slope * sent.x) / sent.points - idle.y / idle.points)
        waiting = _errors(replace(idle, x=0.0, xx=0.0, xy=0.0), 0.0) / (idle.points - 1)
        variances.append(errors / sent.points + (deviation * sent.x / sent.points) ** 2 + waiting / idle.points)
    latency = sum(heights) / len(heights)
    uncertain = 2 * math.sqrt(sum(variances)) / len(heights)
    return max(latency, 0.0) if uncertain < max(CLEAR_SECONDS, CLEAR_LATENCY * latency) else None


def _spread(sums: PointSums) -> float:
    return max(0.0, sums.xx - sums.x * sums.x / sums.points)


def _joint(sums: PointSums) -> float:
    return sums.xy - sums.x * sums.y / sums.points


def _errors(sums: PointSums, slope: float) -> float:
    """The sum of squared distances from a line with a slope, through the mean of the points."""
    heights = sums.yy - sums.y * sums.y / sums.points
    return max(0.0, heights - 2 * slope * _joint(sums) + slope * slope * _spread(sums))
