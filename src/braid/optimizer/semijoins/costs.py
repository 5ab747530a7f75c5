"""What the six one-way joins ship a second, the messages they need and the copies they keep: closed forms with units.

Rows arrive independently (Poisson), join values of a class are uniform, and the join runs every `interval_seconds`. A
batch can match stored rows up to a window older than its first row: stored rows stay for the window and one interval. A
message is sent only if it has something to say, but a request is always answered, since the sender waits. The formulas
of the paper's appendix B are corrected as described in docs/design/2026-11-17-semijoins.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from braid.optimizer.semijoins.framing import NO_FRAMING, Framing
from braid.optimizer.semijoins.network import Link
from braid.optimizer.semijoins.reuse import KeyReuse
from braid.optimizer.semijoins.statistics import JoinKeys, StreamStatistics, join_keys
from braid.optimizer.semijoins.value_classes import ValueClass, value_classes
from braid.plan.sites import Algorithm

# A count of rows is shipped and stored as a 64-bit integer.
COUNT_BYTES = 8
# Beyond it two Poisson counts differ as normal ones do, to less than one part in a thousand.
LARGE_MEAN = 100.0
# A key of 64 bits, and the count of its rows.
COUNTED_COLUMNS = 2


@dataclass(frozen=True)
class Traffic:
    """What crosses a link in one direction: payload, the messages that it is sent in, and their framing."""

    bytes_per_second: float = 0.0
    messages_per_second: float = 0.0
    framing_per_second: float = 0.0


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
        return sum(
            link.seconds(each.bytes_per_second + each.framing_per_second, each.messages_per_second) for each in traffic
        )


@dataclass(frozen=True)
class OneWayJoin:
    """Rows of `source` probe the window of `stored`, every `interval_seconds`; with the expected numbers of a batch."""

    source: StreamStatistics
    stored: StreamStatistics
    interval_seconds: float
    framing: Framing = NO_FRAMING

    @cached_property
    def keys(self) -> JoinKeys:
        return join_keys(self.source, self.stored)

    @cached_property
    def classes(self) -> tuple[ValueClass, ...]:
        """The join values of both streams, those together that are alike."""
        return value_classes(self.source, self.stored)

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
        return sum(one.values * self.probed(one) for one in self.classes)

    @property
    def matching_distinct(self) -> float:
        """Those of them that retained rows have."""
        return sum(one.values * self.probed(one) * self.present(one) for one in self.classes)

    @property
    def retained_distinct(self) -> float:
        """The distinct values of the retained rows (k of the paper)."""
        return sum(one.values * self.present(one) for one in self.classes)

    @property
    def matching_source_share(self) -> float:
        """The share of probing rows whose value is among the retained ones: a common value, and one present."""
        return sum(one.source_share * self.present(one) for one in self.classes)

    def probed(self, one: ValueClass) -> float:
        """The probability that a batch of probing rows has a value."""
        return _at_least_one(self.source_rows * one.source_share / one.values)

    def present(self, one: ValueClass) -> float:
        """The probability that a retained row has a value."""
        return _at_least_one(self.retained_rows * one.stored_share / one.values)

    def reuse(self, one: ValueClass) -> KeyReuse:
        """How long the stored rows of one value stay, and whether probing rows with it arrive in that time."""
        return KeyReuse(
            stored_in_batch=_at_least_one(self.stored_rows * one.stored_share / one.values),
            not_probed_in_batch=math.exp(-self.source_rows * one.source_share / one.values),
            retained_batches=self.retained_intervals,
        )

    def stored_share(self, of_one: Callable[[KeyReuse], float]) -> float:
        """The share of stored rows to which something happens, from what happens to those of each common value."""
        return sum(one.stored_share * of_one(self.reuse(one)) for one in self.classes if one.is_common)

    def common_values(self, of_one: Callable[[KeyReuse], float]) -> float:
        """How many common values something happens to."""
        return sum(one.values * of_one(self.reuse(one)) for one in self.classes if one.is_common)

    def any_value(self, of_one: Callable[[ValueClass], float]) -> float:
        """The probability that something happens in a batch to any common value.

        Rows of different values arrive independently, so what happens to the values is independent too.
        """
        none = math.prod((1 - of_one(one)) ** one.values for one in self.classes if one.is_common)
        return 1.0 - float(none)

    def traffic(self, batch_bytes: float, batch_messages: float, *parts: tuple[float, float]) -> Traffic:
        """Traffic of a batch as that of a second; `parts` of its messages are columns and how many there are."""
        framing = sum(self.framing.of(columns) * count for columns, count in parts)
        interval = self.interval_seconds
        return Traffic(batch_bytes / interval, batch_messages / interval, framing / interval)


def one_way_cost(algorithm: Algorithm, join: OneWayJoin) -> OneWayCost:
    """The cost of a one-way join by one of the six algorithms."""
    return _COSTS[algorithm](join)


def copy_stored_rows(join: OneWayJoin) -> OneWayCost:
    """SP-S: every new stored row is sent to the source, which keeps a copy of the window."""
    stored, messages = join.stored, _at_least_one(join.stored_rows)
    sent = join.traffic(join.stored_rows * stored.row_bytes, messages, (stored.columns, messages))
    work = Work(join.source.rows_per_second, stored.rows_per_second)
    return OneWayCost(Traffic(), sent, 1, join.retained_rows * stored.row_bytes, work)


def send_probing_rows(join: OneWayJoin) -> OneWayCost:
    """SP-D: every probing row is sent."""
    source, messages = join.source, _at_least_one(join.source_rows)
    sent = join.traffic(join.source_rows * source.row_bytes, messages, (source.columns, messages))
    return OneWayCost(sent, Traffic(), 1, 0.0, Work(source.rows_per_second))


def fetch_by_keys(join: OneWayJoin) -> OneWayCost:
    """SM-S1: the values of a batch are sent; stored rows that match, and were not sent before, come back.

    A stored row is sent once, when a probing row with its value first arrives while it is retained. Rows of the batch
    itself are a part of their own. The number of sent rows that expired follows in a message of its own.
    """
    columns, requests = join.stored.columns, _at_least_one(join.source_rows)
    fetched_rows = join.stored_rows * join.stored_share(lambda reuse: reuse.row_probed_share)
    expired = join.any_value(lambda one: join.reuse(one).stored_in_batch * join.reuse(one).row_probed_share)
    new = join.any_value(lambda one: join.probed(one) * join.reuse(one).stored_in_batch)
    old = join.any_value(lambda one: join.probed(one) * join.reuse(one).waiting_share)
    backward = fetched_rows * join.stored.row_bytes + expired * COUNT_BYTES
    copied = join.stored_rows * join.stored_share(lambda reuse: reuse.probed_row_batches)
    probing = join.source_distinct / join.interval_seconds + join.source.rows_per_second
    return OneWayCost(
        forward=join.traffic(join.source_distinct * join.keys.source_bytes, requests, (1, requests)),
        backward=join.traffic(backward, requests + expired, (1, expired), (columns, new + old)),
        trips=2,
        copy_bytes=copied * join.stored.row_bytes,
        work=Work(probing, fetched_rows / join.interval_seconds),
    )


def fetch_by_copied_keys(join: OneWayJoin) -> OneWayCost:
    """SM-S2: the source has the retained values and their counts; the rows of a value are fetched when it matches.

    Later rows of a value that was fetched are sent as they arrive, until the value has no rows left.
    """
    keys, stored = join.keys, join.stored
    requested = join.common_values(_requested)
    requests = join.any_value(lambda one: _requested(join.reuse(one)))
    fetched_rows = join.stored_rows * join.stored_share(lambda reuse: reuse.entry_probed_share)
    pushed = join.any_value(lambda one: join.reuse(one).stored_in_batch * join.reuse(one).entry_probed_share)
    updates = _key_updates(join)
    copied = join.stored_rows * join.stored_share(lambda reuse: reuse.fetched_row_batches)
    written = (fetched_rows + _new_entries(join)) / join.interval_seconds
    sent, messages = updates.batch_bytes + fetched_rows * stored.row_bytes, updates.batch_messages + requests
    parts = ((COUNTED_COLUMNS, updates.batch_messages), (stored.columns, pushed + requests))
    return OneWayCost(
        forward=join.traffic(requested * keys.stored_bytes, requests, (1, requests)),
        backward=join.traffic(sent, messages, *parts),
        trips=3,
        copy_bytes=_copied_keys(join) + copied * stored.row_bytes,
        work=Work(join.source.rows_per_second + requested / join.interval_seconds, written),
    )


def send_by_copied_keys(join: OneWayJoin) -> OneWayCost:
    """SM-D1: the source has the retained values and their counts, and sends the probing rows that match."""
    matching, batches = join.source_rows * join.matching_source_share, _matching_batches(join)
    updates = _key_updates(join)
    rate = join.source.rows_per_second
    counts = (COUNTED_COLUMNS, updates.batch_messages)
    return OneWayCost(
        forward=join.traffic(matching * join.source.row_bytes, batches, (join.source.columns, batches)),
        backward=join.traffic(updates.batch_bytes, updates.batch_messages, counts),
        trips=2,
        copy_bytes=_copied_keys(join),
        work=Work(rate + rate * join.matching_source_share, _new_entries(join) / join.interval_seconds),
    )


def send_by_keys(join: OneWayJoin) -> OneWayCost:
    """SM-D2: the values of a batch are sent, those that match come back, then the probing rows with them are sent."""
    key_bytes, distinct, matching_distinct = join.keys.source_bytes, join.source_distinct, join.matching_distinct
    requests, batches = _at_least_one(join.source_rows), _matching_batches(join)
    matching = join.source_rows * join.matching_source_share
    forward = distinct * key_bytes + matching * join.source.row_bytes
    probing = (distinct + matching_distinct) / join.interval_seconds
    parts = ((1, requests), (join.source.columns, batches))
    return OneWayCost(
        forward=join.traffic(forward, requests + batches, *parts),
        backward=join.traffic(matching_distinct * key_bytes, requests, (1, batches)),
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
    entry = join.keys.stored_bytes + COUNT_BYTES
    unchanged = [(one.values, _as_many(join.stored_rows * one.stored_share / one.values)) for one in join.classes]
    changed = sum(values * (1 - share) for values, share in unchanged)
    return _KeyUpdates(changed * entry, 1 - math.prod(share**values for values, share in unchanged))


def _as_many(mean: float) -> float:
    """The probability that two independent counts with the same mean are equal: of Skellam's distribution at zero."""
    if mean > LARGE_MEAN:
        return 1 / math.sqrt(4 * math.pi * mean)
    return math.exp(-2 * mean) * float(np.i0(2 * mean))


def _requested(reuse: KeyReuse) -> float:
    """The probability that the rows of a value are requested in a batch."""
    return reuse.started_in_batch * reuse.entry_probed_share


def _new_entries(join: OneWayJoin) -> float:
    """The values of a batch of stored rows that no retained row has."""
    return sum(one.values * join.reuse(one).started_in_batch for one in join.classes)


def _copied_keys(join: OneWayJoin) -> float:
    return join.retained_distinct * (join.keys.stored_bytes + COUNT_BYTES)


def _matching_batches(join: OneWayJoin) -> float:
    """The probability that a batch has a probing row whose value is among the retained ones."""
    return join.any_value(lambda one: join.probed(one) * join.present(one))


def _at_least_one(mean: float) -> float:
    """The probability that something happens which happens `mean` times on average."""
    return -math.expm1(-mean)
