"""Links between sites: bandwidth and latency as the user writes them, and which link two sites have.

A network is symmetric: a link serves both directions. Sites that are equal have no link, and what they exchange costs
nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property

from braid.errors import StrategyError
from braid.plan.durations import duration_us

SITES_PER_LINK = 2
BANDWIDTH = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kKMGT]?)(bps|bit/s|Bps|B/s)\s*", re.ASCII)
# Bandwidths count in powers of 1000, as network devices do.
FACTORS = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
BITS_PER_BYTE = 8


@dataclass(frozen=True)
class Link:
    """What a message between two sites takes: `latency`, and its bytes at `bandwidth`."""

    bandwidth: str
    latency: str | timedelta

    def __post_init__(self) -> None:
        """Checked where it is written: a wrong unit fails here, not in an estimate."""
        _bytes_per_second(self.bandwidth)
        duration_us("The latency of a link", self.latency)

    @cached_property
    def bytes_per_second(self) -> float:
        return _bytes_per_second(self.bandwidth)

    @cached_property
    def latency_seconds(self) -> float:
        return duration_us("The latency of a link", self.latency) / 1e6

    def seconds(self, sent_bytes: float, messages: float = 1.0) -> float:
        """The time that `messages` with `sent_bytes` in all occupy the link, one after another (S of the paper)."""
        return messages * self.latency_seconds + sent_bytes / self.bytes_per_second


@dataclass(frozen=True, init=False)
class Network:
    """The links of a query: `default` for every pair of sites that `links` does not name."""

    default: Link
    links: tuple[tuple[tuple[str, str], Link], ...]

    def __init__(self, default: Link, links: Mapping[tuple[str, str], Link] | None = None) -> None:
        object.__setattr__(self, "default", _checked_link("the default link", default))
        object.__setattr__(self, "links", tuple(sorted(_by_pair(links or {}).items(), key=lambda item: item[0])))

    def between(self, first: str, second: str) -> Link | None:
        """The link between two sites; None within one site, where sending costs nothing."""
        if first == second:
            return None
        return dict(self.links).get(_pair(first, second), self.default)


def _bytes_per_second(text: object) -> float:
    found = BANDWIDTH.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise StrategyError(
            f"The bandwidth of a link must be a number and a unit, but is {text!r}.",
            hint='Write bits a second, such as "256 kbps", "1 Mbps" or "10 Gbit/s", or bytes a second, such as '
            '"125 kB/s". Prefixes are k, M, G and T, in powers of 1000.',
        )
    rate = float(found[1]) * FACTORS[found[2]] / (BITS_PER_BYTE if found[3].startswith("b") else 1)
    if not 0 < rate < math.inf:
        raise StrategyError(
            f"The bandwidth of a link must be above zero, but is {text!r}.",
            hint="Streams between which nothing can be sent cannot be joined; leave one of them out.",
        )
    return rate


def _by_pair(links: object) -> dict[tuple[str, str], Link]:
    if not isinstance(links, Mapping):
        raise StrategyError(
            f"The links of a network must be a dict from pairs of sites to links, but are {links!r}.",
            hint='Write links={("eu", "us"): Link("1 Mbps", "25 ms")}.',
        )
    found: dict[tuple[str, str], Link] = {}
    for sites, link in links.items():
        pair = _checked_pair(sites)
        _checked_link(f"the link between {pair[0]} and {pair[1]}", link)
        if found.setdefault(pair, link) != link:
            raise StrategyError(
                f"The link between {pair[0]} and {pair[1]} is given twice: {found[pair]} and {link}.",
                hint="A link serves both directions: give it once.",
            )
    return found


def _checked_pair(sites: object) -> tuple[str, str]:
    names = sites if isinstance(sites, tuple) else ()
    if len(names) != SITES_PER_LINK or not all(isinstance(name, str) and name for name in names):
        raise StrategyError(
            f"A link connects two sites, but {sites!r} is not a pair of their names.",
            hint='Write links={("eu", "us"): Link("1 Mbps", "25 ms")}.',
        )
    if names[0] == names[1]:
        raise StrategyError(
            f"A link connects two different sites, but {sites!r} names one site twice.",
            hint="What streams at one site exchange costs nothing; leave this link out.",
        )
    return _pair(names[0], names[1])


def _pair(first: str, second: str) -> tuple[str, str]:
    return (first, second) if first <= second else (second, first)


def _checked_link(what: str, link: object) -> Link:
    if not isinstance(link, Link):
        raise StrategyError(
            f"{what.capitalize()} must be a Link, but is {link!r}.", hint='Write Link("1 Mbps", "25 ms").'
        )
    return link
