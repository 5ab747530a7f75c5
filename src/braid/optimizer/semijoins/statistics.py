"""What the cost of a join between sites depends on: rates, sizes, windows and distinct join values of the streams.

Join attributes are classes of columns that are equal in every result. Their values are taken as uniformly distributed,
but for those that were observed to be frequent, and of two streams the one with fewer values is taken to have only
values of the other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from braid.errors import StrategyError

# Of a stream of which nothing else is known: a time, a key and a value.
FIRST_COLUMNS = 3


@dataclass(frozen=True)
class FrequentValue:
    """A value by its 64-bit key, and the share of a stream's rows that have it."""

    key: int
    share: float


@dataclass(frozen=True)
class JoinAttribute:
    """One join attribute of a stream: how many distinct values arrive in it, and the bytes of a value.

    The selectivity factor of the paper, f, is `1 / distinct_values`. The `frequent` values are among the distinct ones;
    the others are equally frequent.
    """

    name: str
    distinct_values: float
    value_bytes: float
    frequent: tuple[FrequentValue, ...] = ()

    def __post_init__(self) -> None:
        """A stream has at least one value of each of its attributes, and no fewer than its frequent ones."""
        _require(f"The distinct values of {self.name}", self.distinct_values, at_least=max(1.0, len(self.frequent)))
        _require(f"The bytes of a value of {self.name}", self.value_bytes)

    @property
    def rest_share(self) -> float:
        """The share of rows with one value that is not frequent."""
        others = self.distinct_values - len(self.frequent)
        return max(0.0, 1 - sum(one.share for one in self.frequent)) / others if others > 0 else 0.0


@dataclass(frozen=True)
class StreamStatistics:
    """A stream, or an intermediate result, at the site where its rows arise.

    `window_seconds` is how long a row can be found by rows of other streams. A window of n rows lasts n over the rate.
    `columns` are those that a message of its rows has.
    """

    name: str
    site: str
    rows_per_second: float
    row_bytes: float
    window_seconds: float
    attributes: tuple[JoinAttribute, ...]
    columns: int = FIRST_COLUMNS

    def __post_init__(self) -> None:
        """Rates, sizes and windows are finite and not negative; attributes are named once."""
        _require(f"The rate of {self.name}", self.rows_per_second)
        _require(f"The bytes of a row of {self.name}", self.row_bytes)
        _require(f"The window of {self.name}", self.window_seconds)
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) < len(names):
            raise StrategyError(
                f"The join attributes of {self.name} repeat: {', '.join(names)}.",
                hint="Give the statistics of each attribute once.",
            )

    @property
    def window_rows(self) -> float:
        """The rows in the window (w of the paper)."""
        return self.rows_per_second * self.window_seconds

    def attribute(self, name: str) -> JoinAttribute | None:
        return next((attribute for attribute in self.attributes if attribute.name == name), None)


@dataclass(frozen=True)
class JoinKeys:
    """The values that two streams are joined by: all their common attributes together.

    `common_values` occur in both streams, `source_values` and `stored_values` in each of them.
    """

    source_values: float
    stored_values: float
    common_values: float
    source_bytes: float
    stored_bytes: float

    @property
    def selectivity(self) -> float:
        """The share of all pairs that match (rho of the paper): the smaller selectivity factor."""
        return self.common_values / (self.source_values * self.stored_values)


def join_keys(source: StreamStatistics, stored: StreamStatistics) -> JoinKeys:
    """What joins two streams; without a common attribute every pair matches.

    Several attributes are taken as independent, so that their numbers of values multiply.
    """
    pairs = [(mine, other) for mine in source.attributes if (other := stored.attribute(mine.name)) is not None]
    return JoinKeys(
        source_values=math.prod(mine.distinct_values for mine, _ in pairs),
        stored_values=math.prod(other.distinct_values for _, other in pairs),
        common_values=math.prod(min(mine.distinct_values, other.distinct_values) for mine, other in pairs),
        source_bytes=sum(mine.value_bytes for mine, _ in pairs),
        stored_bytes=sum(other.value_bytes for _, other in pairs),
    )


def _require(what: str, value: float, at_least: float = 0.0) -> None:
    if not (math.isfinite(value) and value >= at_least):
        raise StrategyError(
            f"{what} must be a number of at least {at_least:g}, but is {value!r}.",
            hint="Statistics come from measurements; without them, give a guess above zero.",
        )
