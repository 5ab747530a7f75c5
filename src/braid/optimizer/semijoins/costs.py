"""What the six one-way joins ship a second, the messages they need and the copies they keep: closed forms with units.

Rows arrive independently (Poisson), their join values are uniform, and the join runs every `interval_seconds`. A batch
can match stored rows up to a window older than its first row: stored rows stay for the window and one interval. A
message is sent only if it has something to say, but a request is always answered, since the sender waits. The formulas
of the paper's appendix B are corrected as described in docs/design/2026-11-17-semijoins.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from braid.optimizer.semijoins.network import Link
from braid.optimizer.semijoins.reuse import KeyReuse
from braid.optimizer.semijoins.statistics import JoinKeys, StreamStatistics, join_keys
from braid.plan.sites import Algorithm

# A count of rows is shipped and stored as a 64-bit integer.
COUNT_BYTES = 8
# Beyond it two Poisson counts differ as normal ones do, to less than one part in a thousand.
LARGE_MEAN = 100.0


@dataclass(frozen=True)
class Traffic:
    """What crosses a link in one direction: payload and the messages that it is sent in."""

    bytes_per_second: float = 0.0
    messages_per_second: float = 0.0


@dataclass(frozen=True)
class Work:
    """Rows a second that sites probe with or write to copies, beyond what every plan does with its own windows."""

    probing_rows: float = 0.0
    written_rows: float = 0.0


@dataclass(frozen=True)
class OneWayCost:
    """The cost of one one-way join.

    `forward` goes from the source to the site of the stored stream, `backward` the other way. `trips` is how many
    messages follow each other between a row and its last result. `copy_bytes` is the mean size of the remote copies.
    """

    forward: Traffic
    backward: Traffic
    trips: int
    copy_bytes: float
    work: Work

    def latency_seconds(self, link: Link | None) -> float:
        """The time that a row waits for messages on their way, without the time of sending their bytes."""
        return 0.0 if link is None else self.trips * link.latency_seconds

    def link_seconds(self, link: Link | None) -> float:
        """The seconds a second that the link is busy, latency of messages included: the paper's transmission time."""
        if link is None:
            return 0.0
        traffic = (self.forward, self.backward)
        return sum(link.seconds(each.bytes_per_second, each.messages_per_second) for each in traffic)


@dataclass(frozen=True)
class OneWayJoin:
    """Rows of `source` probe the window of `stored`, every `interval_seconds`; with the expected numbers of a batch."""

    source: StreamStatistics
    stored: StreamStatistics
    interval_seconds: float

    @property
    def keys(self) -> JoinKeys:
        return join_keys(self.source, self.stored)

    @property
    def source_rows(self) -> float:
        """The probing rows of a batch."""
        return self.source.rows_per_second * self.interval_seconds

    @property
    def stored_rows(self) -> float:
        """The rows that the stored stream gains in a batch."""
        return self.stored.rows_per_second * self.interval_seconds

    @property
    def retained_intervals(self) -> float:
        """How many batches can match a stored row, that of its arrival included."""
        return self.stored.window_seconds / self.interval_seconds + 1

    @property
    def retained_rows(self) -> float:
        return self.stored_rows * self.retained_intervals

    @property
    def source_distinct(self) -> float:
        """The distinct values of a batch of probing rows (m of the paper)."""
        return _distinct(self.keys.source_values, self.source_rows)

    @property
    def retained_distinct(self) -> float:
        """The distinct values of the retained rows (k of the paper)."""
        return _distinct(self.keys.stored_values, self.retained_rows)

    @property
    def matching_source_share(self) -> float:
        """The share of probing rows whose value is among the retained ones: a common value, and one present."""
        keys = self.keys
        return keys.common_values / keys.source_values * _at_least_one(self.retained_rows / keys.stored_values)

    @property
    def reuse(self) -> KeyReuse:
        """How long the stored rows of one value stay, and whether probing rows with it arrive in that time."""
        keys = self.keys
        return KeyReuse(
            stored_in_batch=_at_least_one(self.stored_rows / keys.stored_values),
            not_probed_in_batch=math.exp(-self.source_rows / keys.source_values),
            retained_batches=self.retained_intervals,
        )

    def traffic(self, batch_bytes: float, batch_messages: float) -> Traffic:
        """Traffic of a batch as that of a second."""
        return Traffic(batch_bytes / self.interval_seconds, batch_messages / self.interval_seconds)


def one_way_cost(algorithm: Algorithm, join: OneWayJoin) -> OneWayCost:
    """The cost of a one-way join by one of the six algorithms."""
    return _COSTS[algorithm](join)


def copy_stored_rows(join: OneWayJoin) -> OneWayCost:
    """SP-S: every new stored row is sent to the source, which keeps a copy of the window."""
    stored = join.stored
    sent = join.traffic(join.stored_rows * stored.row_bytes, _at_least_one(join.stored_rows))
    work = Work(join.source.rows_per_second, stored.rows_per_second)
    return OneWayCost(Traffic(), sent, 1, join.retained_rows * stored.row_bytes, work)


def send_probing_rows(join: OneWayJoin) -> OneWayCost:
    """SP-D: every probing row is sent."""
    sent = join.traffic(join.source_rows * join.source.row_bytes, _at_least_one(join.source_rows))
    return OneWayCost(sent, Traffic(), 1, 0.0, Work(join.source.rows_per_second))


def fetch_by_keys(join: OneWayJoin) -> OneWayCost:
    """SM-S1: the values of a batch are sent; stored rows that match, and were not sent before, come back.

    A stored row is sent once, when a probing row with its value first arrives while it is retained. The number of sent
    rows that expired follows in a message of its own.
    """
    requests = _at_least_one(join.source_rows)
    fetched = _common_share(join) * join.reuse.row_probed_share
    fetched_rows = join.stored_rows * fetched
    expired = _any_value(join, join.reuse.stored_in_batch * join.reuse.row_probed_share)
    backward = fetched_rows * join.stored.row_bytes + expired * COUNT_BYTES
    copied = join.stored_rows * _common_share(join) * join.reuse.probed_row_batches
    rate = join.source.rows_per_second
    work = Work(join.source_distinct / join.interval_seconds + rate, fetched_rows / join.interval_seconds)
    return OneWayCost(
        forward=join.traffic(join.source_distinct * join.keys.source_bytes, requests),
        backward=join.traffic(backward, requests + expired),
        trips=2,
        copy_bytes=copied * join.stored.row_bytes,
        work=work,
    )


def fetch_by_copied_keys(join: OneWayJoin) -> OneWayCost:
    """SM-S2: the source has the retained values and their counts; the rows of a value are fetched when it matches.

    Later rows of a value that was fetched are sent as they arrive, until the value has no rows left.
    """
    keys, stored = join.keys, join.stored
    requested_value = join.reuse.started_in_batch * join.reuse.entry_probed_share
    requested, requests = keys.common_values * requested_value, _any_value(join, requested_value)
    fetched_rows = join.stored_rows * _common_share(join) * join.reuse.entry_probed_share
    updates = _key_updates(join)
    copied = join.stored_rows * _common_share(join) * join.reuse.fetched_row_batches
    written = (fetched_rows + _new_entries(join)) / join.interval_seconds
    return OneWayCost(
        forward=join.traffic(requested * keys.stored_bytes, requests),
        backward=join.traffic(updates.batch_bytes + fetched_rows * stored.row_bytes, updates.batch_messages + requests),
        trips=3,
        copy_bytes=_copied_keys(join) + copied * stored.row_bytes,
        work=Work(join.source.rows_per_second + requested / join.interval_seconds, written),
    )


def send_by_copied_keys(join: OneWayJoin) -> OneWayCost:
    """SM-D1: the source has the retained values and their counts, and sends the probing rows that match."""
    matching = join.source_rows * join.matching_source_share
    updates = _key_updates(join)
    rate = join.source.rows_per_second
    return OneWayCost(
        forward=join.traffic(matching * join.source.row_bytes, _matching_batches(join)),
        backward=join.traffic(updates.batch_bytes, updates.batch_messages),
        trips=2,
        copy_bytes=_copied_keys(join),
        work=Work(rate + rate * join.matching_source_share, _new_entries(join) / join.interval_seconds),
    )


def send_by_keys(join: OneWayJoin) -> OneWayCost:
    """SM-D2: the values of a batch are sent, those that match come back, then the probing rows with them are sent."""
    key_bytes, distinct = join.keys.source_bytes, join.source_distinct
    requests = _at_least_one(join.source_rows)
    matching = join.source_rows * join.matching_source_share
    forward = distinct * key_bytes + matching * join.source.row_bytes
    probing = distinct * (1 + join.matching_source_share) / join.interval_seconds
    return OneWayCost(
        forward=join.traffic(forward, requests + _matching_batches(join)),
        backward=join.traffic(distinct * join.matching_source_share * key_bytes, requests),
        trips=3,
        copy_bytes=0.0,
        work=Work(probing + join.source.rows_per_second * join.matching_source_share),
    )


_COSTS: dict[Algorithm, Callable[[OneWayJoin], OneWayCost]] = {
    Algorithm.SP_S: copy_stored_rows,
    Algorithm.SP_D: send_probing_rows,
    Algorithm.SM_S1: fetch_by_keys,
    Algorithm.SM_S2: fetch_by_copied_keys,
    Algorithm.SM_D1: send_by_copied_keys,
    Algorithm.SM_D2: send_by_keys,
}


@dataclass(frozen=True)
class _KeyUpdates:
    """What keeps a copy of the retained values up to date, in a batch: the values whose counts changed, with these."""

    batch_bytes: float
    batch_messages: float


def _key_updates(join: OneWayJoin) -> _KeyUpdates:
    """A message if a count changed. Rows of a value arrive and expire independently, with the same mean."""
    values = join.keys.stored_values
    unchanged = _as_many(join.stored_rows / values)
    return _KeyUpdates(values * (1 - unchanged) * (join.keys.stored_bytes + COUNT_BYTES), 1 - unchanged**values)


def _as_many(mean: float) -> float:
    """The probability that two independent counts with the same mean are equal: of Skellam's distribution at zero."""
    if mean > LARGE_MEAN:
        return 1 / math.sqrt(4 * math.pi * mean)
    return math.exp(-2 * mean) * float(np.i0(2 * mean))


def _new_entries(join: OneWayJoin) -> float:
    """The values of a batch of stored rows that no retained row has."""
    return join.keys.stored_values * join.reuse.started_in_batch


def _copied_keys(join: OneWayJoin) -> float:
    return join.retained_distinct * (join.keys.stored_bytes + COUNT_BYTES)


def _matching_batches(join: OneWayJoin) -> float:
    """The probability that a batch has a probing row whose value is among the retained ones."""
    keys = join.keys
    probed = _at_least_one(join.source_rows / keys.source_values)
    return _any_value(join, probed * _at_least_one(join.retained_rows / keys.stored_values))


def _any_value(join: OneWayJoin, of_one: float) -> float:
    """The probability that something happens in a batch to any common value, if to each of them with `of_one`.

    Rows of different values arrive independently, so what happens to the values is independent too.
    """
    return float(1 - (1 - of_one) ** join.keys.common_values)


def _common_share(join: OneWayJoin) -> float:
    """The share of stored rows whose value the source has at all (f_21 of the paper)."""
    return join.keys.common_values / join.keys.stored_values


def _distinct(values: float, rows: float) -> float:
    """The expected number of distinct values of so many rows, each with any of `values`."""
    return values * _at_least_one(rows / values)


def _at_least_one(mean: float) -> float:
    """The probability that something happens which happens `mean` times on average."""
    return -math.expm1(-mean)
