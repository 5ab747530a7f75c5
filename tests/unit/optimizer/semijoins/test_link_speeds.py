"""Links as they are measured: from rounds with noise, and clocks that differ; nothing while it is not clear."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from braid.optimizer.semijoins.link_speeds import LinkSpeed, links_after, measured_network, measured_speeds
from braid.optimizer.semijoins.network import Link, Network
from braid.state.site_state import LinkObservation, PointSums

MEGABYTE = 1_000_000
GIVEN = Network(Link("1 Mbps", "25 ms"), {("c", "b"): Link("2 Mbps", "1 ms")})


def rounds(
    chance: random.Random, rate: float, latency: float, largest: float, sent: int = 2, idle: int = 1
) -> Iterator[LinkObservation]:
    """Rounds of a step, to each of two sites whose clocks differ by a quarter of a second; Spark takes 40 to 80 ms."""
    for source, target, skew in (("a", "b", 0.25), ("b", "a", -0.25)):
        for _ in range(sent):
            size = chance.uniform(0, largest)
            waited = skew + chance.uniform(0.04, 0.08) + latency + size / rate
            yield LinkObservation(source, target, sent=PointSums.of(size, waited))
        for _ in range(idle):
            yield LinkObservation(source, target, idle=PointSums.of(0.0, skew + chance.uniform(0.04, 0.08)))


def after(steps: int, chance: random.Random, **given: float | int) -> tuple[LinkObservation, ...]:
    known: tuple[LinkObservation, ...] = ()
    for _ in range(steps):
        known = links_after(known, rounds(chance, **given))  # type: ignore[arg-type]  # numbers by their names
    return known


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("rate", "latency"), [(MEGABYTE, 0.1), (6.25 * MEGABYTE, 0.0), (20 * MEGABYTE, 0.025)])
def test_bandwidth_and_latency_are_found_through_noise_and_clocks_that_differ(
    seed: int, rate: float, latency: float
) -> None:
    known = after(40, random.Random(seed), rate=rate, latency=latency, largest=5 * MEGABYTE)
    (speed,) = measured_speeds(known).values()
    assert speed.bytes_per_second == pytest.approx(rate, rel=0.05)
    assert speed.latency_seconds == pytest.approx(latency, abs=0.012)


@pytest.mark.parametrize("seed", range(20))
def test_messages_too_small_to_take_time_say_nothing_of_bandwidth(seed: int) -> None:
    known = after(40, random.Random(seed), rate=100 * MEGABYTE, latency=0.05, largest=20_000)
    (speed,) = measured_speeds(known).values()
    assert speed.bytes_per_second is None
    assert speed.latency_seconds == pytest.approx(0.05, abs=0.012)


def test_few_rounds_say_nothing() -> None:
    assert measured_speeds(after(3, random.Random(1), rate=MEGABYTE, latency=0.1, largest=5 * MEGABYTE)) == {}


def test_without_rounds_to_which_nothing_was_sent_the_latency_is_not_known() -> None:
    known = after(40, random.Random(1), rate=MEGABYTE, latency=0.1, largest=5 * MEGABYTE, idle=0)
    (speed,) = measured_speeds(known).values()
    assert speed.bytes_per_second == pytest.approx(MEGABYTE, rel=0.05)
    assert speed.latency_seconds is None


def test_rounds_of_equal_size_say_nothing_of_bandwidth() -> None:
    known: tuple[LinkObservation, ...] = ()
    for _ in range(30):
        known = links_after(known, [LinkObservation("a", "b", sent=PointSums.of(MEGABYTE, 1.0))])
    assert measured_speeds(known) == {}


def test_a_link_that_changes_is_seen() -> None:
    chance = random.Random(1)
    known = after(60, chance, rate=MEGABYTE, latency=0.1, largest=5 * MEGABYTE)
    for _ in range(100):
        known = links_after(known, rounds(chance, 4 * MEGABYTE, 0.1, 5 * MEGABYTE))
    (speed,) = measured_speeds(known).values()
    assert speed.bytes_per_second == pytest.approx(4 * MEGABYTE, rel=0.1)


def test_what_was_measured_takes_the_place_of_what_was_given() -> None:
    known = after(60, random.Random(1), rate=2 * MEGABYTE, latency=0.1, largest=5 * MEGABYTE)
    network = measured_network(GIVEN, known)
    link = network.between("b", "a")
    assert link is not None
    assert link.bytes_per_second == pytest.approx(2 * MEGABYTE, rel=0.05)
    assert link.latency_seconds == pytest.approx(0.1, abs=0.012)
    assert network.between("b", "c") == GIVEN.between("b", "c")
    assert network.between("a", "c") == GIVEN.default


def test_what_is_not_clear_stays_as_given() -> None:
    known = after(40, random.Random(1), rate=100 * MEGABYTE, latency=0.05, largest=20_000)
    link = measured_network(GIVEN, known).between("a", "b")
    assert link is not None
    assert link.bandwidth == "1 Mbps"
    assert link.latency_seconds == pytest.approx(0.05, abs=0.012)


def test_nothing_was_seen() -> None:
    assert measured_network(GIVEN, ()) == GIVEN
    assert LinkSpeed() == LinkSpeed(None, None)
