"""Join values in classes: those of a class are alike in both streams, so that formulas hold in each and are summed.

Where nothing is known of single values there are at most three classes: values that both streams have, and those that
only one of them has. A value that was observed to be frequent in a stream is a class of its own. The others share what
is left of the rows evenly. Of two streams the one with fewer values is taken to have only values of the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from braid.optimizer.semijoins.statistics import FrequentValue, JoinAttribute, StreamStatistics, join_keys


@dataclass(frozen=True)
class ValueClass:
    """So many values, and the shares of each stream's rows that have one of them; zero: the stream has none."""

    values: float
    source_share: float
    stored_share: float

    @property
    def is_common(self) -> bool:
        return self.source_share > 0 and self.stored_share > 0


def value_classes(source: StreamStatistics, stored: StreamStatistics) -> tuple[ValueClass, ...]:
    """The classes of the values by which two streams are joined; those of several attributes together are alike."""
    pairs = [(mine, other) for mine in source.attributes if (other := stored.attribute(mine.name)) is not None]
    if len(pairs) == 1 and (pairs[0][0].frequent or pairs[0][1].frequent):
        return tuple(one for one in _of_attribute(*pairs[0]) if one.values > 0)
    keys = join_keys(source, stored)
    common = keys.common_values
    found = (
        ValueClass(common, common / keys.source_values, common / keys.stored_values),
        ValueClass(keys.source_values - common, 1 - common / keys.source_values, 0.0),
        ValueClass(keys.stored_values - common, 0.0, 1 - common / keys.stored_values),
    )
    return tuple(one for one in found if one.values > 0)


def matching_share(source: StreamStatistics, stored: StreamStatistics) -> float:
    """The share of all pairs of rows with equal values."""
    classes = value_classes(source, stored)
    return sum(one.source_share * one.stored_share / one.values for one in classes)


def joined_attribute(mine: JoinAttribute, other: JoinAttribute) -> JoinAttribute:
    """The values of results: those that both have, each as frequent as the pairs of rows that have it."""
    fewer = min(mine, other, key=lambda one: one.distinct_values)
    if not (mine.frequent or other.frequent):
        return fewer
    pairs = sum(one.source_share * one.stored_share / one.values for one in _of_attribute(mine, other) if one.values)
    shares = {key: _share(mine, other, key) * _share(other, mine, key) for key in _keys(mine) | _keys(other)}
    listed = sorted(shares, key=lambda key: (-shares[key], key))[: int(fewer.distinct_values)]
    frequent = tuple(FrequentValue(key, shares[key] / pairs) for key in listed if pairs and shares[key])
    return JoinAttribute(fewer.name, fewer.distinct_values, fewer.value_bytes, frequent)


def _of_attribute(mine: JoinAttribute, other: JoinAttribute) -> Iterator[ValueClass]:
    both = _keys(mine) & _keys(other)
    for key in sorted(both):
        yield ValueClass(1.0, _listed(mine)[key], _listed(other)[key])
    rest = {"mine": mine.distinct_values - len(mine.frequent), "other": other.distinct_values - len(other.frequent)}
    for key in sorted(_keys(mine) - both):
        present = _present(other, mine)
        share = _listed(mine)[key]
        yield ValueClass(present, present * share, present * other.rest_share)
        yield ValueClass(1 - present, (1 - present) * share, 0.0)
        rest["other"] -= present
    for key in sorted(_keys(other) - both):
        present = _present(mine, other)
        share = _listed(other)[key]
        yield ValueClass(present, present * mine.rest_share, present * share)
        yield ValueClass(1 - present, 0.0, (1 - present) * share)
        rest["mine"] -= present
    first, second = max(0.0, rest["mine"]), max(0.0, rest["other"])
    common = min(first, second)
    yield ValueClass(common, common * mine.rest_share, common * other.rest_share)
    yield ValueClass(first - common, (first - common) * mine.rest_share, 0.0)
    yield ValueClass(second - common, 0.0, (second - common) * other.rest_share)


def _present(own: JoinAttribute, other: JoinAttribute) -> float:
    """The probability that a frequent value of the other stream, not frequent in this one, is one of this one."""
    if own.distinct_values >= other.distinct_values:
        return 1.0
    known = len(own.frequent)
    return max(0.0, (own.distinct_values - known) / (other.distinct_values - known))


def _share(own: JoinAttribute, other: JoinAttribute, key: int) -> float:
    listed = _listed(own)
    return listed[key] if key in listed else _present(own, other) * own.rest_share


def _listed(attribute: JoinAttribute) -> dict[int, float]:
    return {one.key: one.share for one in attribute.frequent}


def _keys(attribute: JoinAttribute) -> set[int]:
    return {one.key for one in attribute.frequent}
