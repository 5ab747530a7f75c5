"""Nexmark's auction site: people, auctions and bids in the proportions 1 : 3 : 46, and the queries that join them.

A row depends only on the seed and the number of its event, so a stretch of events holds the same rows however it is
cut. Ids count up from 1,000. Three auctions in four are by the hot seller of the last hundred people, half of the bids
are for the hot auction of the last hundred; the others take one of the last 1,000 people or 100 auctions, or one of
the next 10, whose row then comes later. No auction lasts longer than twice the time in which 100 of them open.

Nexmark joins over the whole history, except q8. Partners are less than 50,000 events apart, so from 5,000 events a
second a window of 10 s loses none of them, and the state stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.workloads.workload import FIRST_SECOND, SECOND_US, TIME, Feed, Workload, named, window_text

SEED = 20_260
FIRST_ID = 1_000
FIRST_CATEGORY = 10
CATEGORIES = 5
HOT_EVERY = 100  # one person, or auction, in so many is hot until the next one is
ACTIVE_PEOPLE = 1_000
OPEN_AUCTIONS = 100
LEAD = 10  # how far ahead of the newest id a reference may be
TUMBLE_SECONDS = 10
PHILOX_WORDS = 4  # what Philox gives for each value of its counter
CHANNELS = 10_000
HOT_CHANNELS = ("Apple", "Baidu", "Facebook", "Google")
FIRST_NAMES = ("Deiter", "John", "Julie", "Kate", "Luke", "Paul", "Peter", "Sarah", "Saul", "Vicky", "Walter")
LAST_NAMES = ("Abrams", "Bartels", "Jones", "Noris", "Shultz", "Smith", "Spencer", "Walton", "White")
NAMES = tuple(f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES)
CITIES = (
    "Bend", "Boise", "Cheyenne", "Kent", "Los Angeles", "Phoenix", "Portland", "Redmond", "San Francisco", "Seattle",
)  # fmt: skip
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")

PERSON_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("email", pa.string()),
        ("credit_card", pa.string()),
        ("city", pa.string()),
        ("state", pa.string()),
        ("ts", TIME),
    ]
)
AUCTION_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("item_name", pa.string()),
        ("description", pa.string()),
        ("initial_bid", pa.int64()),
        ("reserve", pa.int64()),
        ("expires", TIME),
        ("seller", pa.int64()),
        ("category", pa.int64()),
        ("ts", TIME),
    ]
)
BID_SCHEMA = pa.schema(
    [
        ("id", pa.int64()),  # Nexmark's bids have none; answers need one to tell rows apart
        ("auction", pa.int64()),
        ("bidder", pa.int64()),
        ("price", pa.int64()),
        ("channel", pa.string()),
        ("url", pa.string()),
        ("ts", TIME),
    ]
)

Integers = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Rows = Callable[[int, int, int, int], pa.Table]  # of a seed, a first event, a number of events, events a second


@dataclass(frozen=True)
class Kind:
    """One kind of event: how many of them a round of 50 events has, from which place on."""

    place: int
    share: int

    def before(self, events: Integers) -> Integers:
        """How many of this kind come before each event: the newest one's number is one less."""
        rounds, place = np.divmod(events, ROUND)
        counted: Integers = rounds * self.share + np.clip(place - self.place, 0, self.share)
        return counted

    def within(self, first_event: int, events: int) -> Integers:
        """The numbers, from 0, of this kind's own events in a stretch of all events."""
        begin, end = self.before(np.array([first_event, first_event + events]))
        return np.arange(begin, end)

    def events(self, numbers: Integers) -> Integers:
        """The event that each of this kind's numbers is."""
        rounds, place = np.divmod(numbers, self.share)
        found: Integers = rounds * ROUND + self.place + place
        return found


PERSON, AUCTION, BID = Kind(0, 1), Kind(1, 3), Kind(4, 46)
ROUND = PERSON.share + AUCTION.share + BID.share


def persons(seed: int, first_event: int, events: int, events_per_second: int) -> pa.Table:
    """The people among the events."""
    numbers = PERSON.within(first_event, events)
    words = _words(seed, PERSON, numbers, 6)
    columns = [
        FIRST_ID + numbers,
        _choice(words[:, 0], NAMES),
        _email(words[:, 1:3]),
        _credit_card(words[:, 3]),
        _choice(words[:, 4], CITIES),
        _choice(words[:, 5], STATES),
        _microseconds(PERSON.events(numbers), events_per_second),
    ]
    return _table(columns, PERSON_SCHEMA)


def auctions(seed: int, first_event: int, events: int, events_per_second: int) -> pa.Table:
    """The auctions among the events."""
    numbers = AUCTION.within(first_event, events)
    at = AUCTION.events(numbers)
    words = _words(seed, AUCTION, numbers, 22)
    opened_us = _microseconds(at, events_per_second)
    initial_bid = _price(words[:, 3])
    columns = [
        FIRST_ID + numbers,
        _letters(words[:, 6:9], 20),
        _letters(words[:, 9:22], 100),
        initial_bid,
        initial_bid + _price(words[:, 4]),
        opened_us + 1 + _below(words[:, 5], longest_auction_us(events_per_second)),
        FIRST_ID + np.where(_below(words[:, 0], 4) > 0, _hot(PERSON, at), _any_person(words[:, 1], at)),
        FIRST_CATEGORY + _below(words[:, 2], CATEGORIES),
        opened_us,
    ]
    return _table(columns, AUCTION_SCHEMA)


def bids(seed: int, first_event: int, events: int, events_per_second: int) -> pa.Table:
    """The bids among the events."""
    numbers = BID.within(first_event, events)
    at = BID.events(numbers)
    words = _words(seed, BID, numbers, 7)
    hot_bidder = _hot(PERSON, at) + 1  # not the hot seller
    channels, urls = _channels()
    channel = np.where(
        _below(words[:, 5], 2) > 0,
        _below(words[:, 6], len(HOT_CHANNELS)),
        len(HOT_CHANNELS) + _below(words[:, 6], CHANNELS),
    )
    columns = [
        FIRST_ID + numbers,
        FIRST_ID + np.where(_below(words[:, 0], 2) > 0, _hot(AUCTION, at), _open_auction(words[:, 1], at)),
        FIRST_ID + np.where(_below(words[:, 2], 4) > 0, hot_bidder, _any_person(words[:, 3], at)),
        _price(words[:, 4]),
        channels.take(pa.array(channel)),
        urls.take(pa.array(channel)),
        _microseconds(at, events_per_second),
    ]
    return _table(columns, BID_SCHEMA)


def longest_auction_us(events_per_second: int) -> int:
    """Twice the time in which as many auctions open as are open at a time: no auction lasts longer."""
    return max(1, 2 * SECOND_US * (OPEN_AUCTIONS * ROUND // AUCTION.share) // events_per_second)


def tumbled(rows: Rows, seed: int, first_event: int, events: int, events_per_second: int) -> pa.Table:
    """Rows with the start of their tumbling window, which no text says to Spark and DuckDB alike."""
    table = rows(seed, first_event, events, events_per_second)
    times_us = table["ts"].cast(pa.int64()).to_numpy()
    starts_us = times_us - times_us % (TUMBLE_SECONDS * SECOND_US)
    return table.append_column("window_start", pa.array(starts_us).cast(TIME))


def q3(
    events_per_second: int = 1_000_000,
    window_seconds: float | None = 10,
    seconds_per_batch: float = 1,
    batches: int = 30,
) -> Workload:
    """Who sells in three states, in category 10? Nexmark asks it of the whole history."""
    return Workload(
        name="nexmark-q3",
        title=f"Nexmark q3, auctions and their sellers, {window_text(window_seconds)}",
        feeds=(
            _feed("auction", auctions, AUCTION_SCHEMA, events_per_second),
            _feed("person", persons, PERSON_SCHEMA, events_per_second),
        ),
        on="auction.seller = person.id AND auction.category = 10 AND person.state IN ('OR', 'ID', 'CA')",
        select=("auction.id AS auction_id", "person.id AS person_id", *named("person", "name", "city", "state")),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
    )


def q8(events_per_second: int = 1_000_000, seconds_per_batch: float = 1, batches: int = 30) -> Workload:
    """Who came and opened an auction within the same ten seconds?

    The window that tumbles is an equality of window starts, which implies the window of event time. Nexmark names each
    person once a window; here every auction is a result.
    """
    schemas = (schema.append(pa.field("window_start", TIME)) for schema in (PERSON_SCHEMA, AUCTION_SCHEMA))
    return Workload(
        name="nexmark-q8",
        title=f"Nexmark q8, new people and their auctions, tumbling windows of {TUMBLE_SECONDS} s",
        feeds=tuple(
            _feed(name, partial(tumbled, rows), schema, events_per_second)
            for name, rows, schema in zip(("person", "auction"), (persons, auctions), schemas, strict=True)
        ),
        on="person.id = auction.seller AND person.window_start = auction.window_start",
        select=("person.id AS person_id", "auction.id AS auction_id", *named("person", "name", "window_start")),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=TUMBLE_SECONDS,
    )


def q9(
    events_per_second: int = 100_000,
    window_seconds: float | None = 10,
    seconds_per_batch: float = 1,
    batches: int = 30,
) -> Workload:
    """Which bids came while their auction was open? Nexmark then keeps the highest of each auction.

    The range bounds itself: from 334 events a second no auction lasts 10 s, and the window only says so.
    """
    return Workload(
        name="nexmark-q9",
        title=f"The join of Nexmark q9, bids while their auction is open, {window_text(window_seconds)}",
        feeds=(
            _feed("auction", auctions, AUCTION_SCHEMA, events_per_second),
            _feed("bid", bids, BID_SCHEMA, events_per_second),
        ),
        on="auction.id = bid.auction AND bid.ts BETWEEN auction.ts AND auction.expires",
        select=(
            "auction.id AS auction_id",
            "bid.id AS bid_id",
            *named("auction", "item_name", "initial_bid", "reserve", "seller", "category"),
            *named("bid", "bidder", "price"),
        ),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
    )


def q20(
    events_per_second: int = 100_000,
    window_seconds: float | None = 10,
    seconds_per_batch: float = 1,
    batches: int = 30,
) -> Workload:
    """Bids with everything about their auction, in category 10. Nexmark asks it of the whole history."""
    return Workload(
        name="nexmark-q20",
        title=f"Nexmark q20, bids and their auctions, all columns, {window_text(window_seconds)}",
        feeds=(
            _feed("bid", bids, BID_SCHEMA, events_per_second),
            _feed("auction", auctions, AUCTION_SCHEMA, events_per_second),
        ),
        on="bid.auction = auction.id AND auction.category = 10",
        select=(
            "bid.id AS bid_id",
            "auction.id AS auction_id",
            *named("bid", "bidder", "price", "channel", "url"),
            "bid.ts AS bid_ts",
            *named("auction", "item_name", "description", "initial_bid", "reserve", "expires", "seller", "category"),
            "auction.ts AS auction_ts",
        ),
        seconds_per_batch=seconds_per_batch,
        batches=batches,
        window_seconds=window_seconds,
    )


def _feed(name: str, rows: Rows, schema: pa.Schema, events_per_second: int) -> Feed:
    def second(at: int) -> pa.Table:
        return rows(SEED, at * events_per_second, events_per_second, events_per_second)

    return Feed(name, schema, second)


def _words(seed: int, kind: Kind, numbers: Integers, count: int) -> Words:
    """At least `count` random words for each number. Philox counts, so any stretch of numbers can be asked for."""
    blocks = -(-count // PHILOX_WORDS)
    first = int(numbers[0]) if len(numbers) else 0
    random = np.random.Philox(key=[seed, kind.place], counter=first * blocks)
    words: Words = random.random_raw(len(numbers) * blocks * PHILOX_WORDS)
    return words.reshape(len(numbers), blocks * PHILOX_WORDS)


def _below(words: Words, limit: int | Integers) -> Integers:
    """Numbers from 0 to below the limit. Both sides must be unsigned: NumPy makes floats of a mixture."""
    remainders: Words = words % np.asarray(limit, np.uint64)
    return remainders.astype(np.int64)


def _price(words: Words) -> Integers:
    """Cents, even on a logarithmic scale from one to a million dollars."""
    unit = (words >> np.uint64(11)) * 2.0**-53
    cents: Integers = np.rint(100 * 10 ** (6 * unit)).astype(np.int64)
    return cents


def _microseconds(events: Integers, events_per_second: int) -> Integers:
    times_us: Integers = FIRST_SECOND * SECOND_US + events * SECOND_US // events_per_second
    return times_us


def _hot(kind: Kind, at: Integers) -> Integers:
    """The first of the newest hundred, at each event."""
    newest = kind.before(at) - 1
    hot: Integers = newest - newest % HOT_EVERY
    return hot


def _any_person(words: Words, at: Integers) -> Integers:
    people = PERSON.before(at)
    active = np.minimum(people, ACTIVE_PEOPLE)
    return people - active + _below(words, active + LEAD)


def _open_auction(words: Words, at: Integers) -> Integers:
    newest = AUCTION.before(at) - 1
    oldest = np.maximum(newest - OPEN_AUCTIONS, 0)
    return oldest + _below(words, newest - oldest + 1 + LEAD)


def _choice(words: Words, values: tuple[str, ...]) -> pa.Array:
    return pa.array(values).take(pa.array(_below(words, len(values))))


def _letters(words: Words, length: int) -> pa.Array:
    """Texts of one length, a letter for each byte of the words."""
    bytes_each = np.ascontiguousarray(words).view(np.uint8)[:, :length]
    letters = np.ascontiguousarray(ord("a") + bytes_each % 26)
    offsets = np.arange(0, (len(words) + 1) * length, length, dtype=np.int32)
    return pa.StringArray.from_buffers(len(words), pa.py_buffer(offsets), pa.py_buffer(letters))


def _email(words: Words) -> pa.Array:
    letters = _letters(words, 12)
    user, host = (pc.utf8_slice_codeunits(letters, start, stop) for start, stop in ((0, 7), (7, 12)))
    return pc.binary_join_element_wise(user, "@", host, ".com", "")


def _credit_card(words: Words) -> pa.Array:
    digits = pc.utf8_lpad(pa.array(_below(words, 10**16)).cast(pa.string()), 16, "0")
    return pc.binary_join_element_wise(*(pc.utf8_slice_codeunits(digits, n, n + 4) for n in range(0, 16, 4)), " ")


@cache
def _channels() -> tuple[pa.Array, pa.Array]:
    """Every channel's name, the hot ones first, and its address."""
    names = [*HOT_CHANNELS, *(f"channel-{number}" for number in range(CHANNELS))]
    urls = [f"https://auctions.example/item.htm?query=1&channel_id={number}" for number in range(len(names))]
    return pa.array(names), pa.array(urls)


def _table(columns: list[Any], schema: pa.Schema) -> pa.Table:
    return pa.table([pa.array(c).cast(f.type) for c, f in zip(columns, schema, strict=True)], schema=schema)
