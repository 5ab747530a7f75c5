"""Links and networks: what the user writes, what is refused, and how long messages take."""

from __future__ import annotations

import dataclasses
import pickle
from datetime import timedelta

import pytest

from braid.errors import DurationError, StrategyError
from braid.optimizer.semijoins.network import Link, Network

SLOW, FAST = Link("1 Mbps", "25 ms"), Link("1 Gbps", "1 ms")


@pytest.mark.parametrize(
    ("text", "bytes_per_second"),
    [
        ("8 bps", 1.0),
        ("256 Kbps", 32_000.0),
        ("256kbps", 32_000.0),
        (" 1.5 Mbps ", 187_500.0),
        ("10 Gbit/s", 1.25e9),
        ("1 Tbps", 1.25e11),
        ("125 kB/s", 125_000.0),
        ("2 MBps", 2e6),
    ],
)
def test_bandwidths_are_bits_or_bytes_a_second(text: str, bytes_per_second: float) -> None:
    assert Link(text, "0 ms").bytes_per_second == bytes_per_second


@pytest.mark.parametrize(
    "text", ["", "fast", "1", "Mbps", "-1 Mbps", "1 mbps", "1 MB", "1 Mbps 2", "1e3 bps", 1_000_000, None]
)
def test_another_bandwidth_is_refused(text: str) -> None:
    with pytest.raises(StrategyError, match="must be a number and a unit") as refused:
        Link(text, "25 ms")
    assert repr(text) in str(refused.value)
    assert '"1 Mbps"' in refused.value.hint


@pytest.mark.parametrize("text", ["0 Mbps", "0.0 bps", f"{'9' * 400} bps"])
def test_a_bandwidth_is_above_zero(text: str) -> None:
    with pytest.raises(StrategyError, match="must be above zero"):
        Link(text, "25 ms")


def test_a_latency_is_a_duration() -> None:
    assert SLOW.latency_seconds == 0.025
    assert Link("1 Mbps", timedelta(milliseconds=25)).latency_seconds == 0.025
    for latency in ("soon", "-1 ms", 25):
        with pytest.raises(DurationError, match="The latency of a link"):
            Link("1 Mbps", latency)  # type: ignore[arg-type]  # a wrong type is what is tested


def test_messages_take_their_latency_and_their_bytes() -> None:
    assert SLOW.seconds(125_000) == 1.025
    assert SLOW.seconds(125_000, messages=10) == 1.25
    assert SLOW.seconds(0, messages=0) == 0


def test_a_network_has_a_link_for_every_two_sites() -> None:
    network = Network(SLOW, {("us", "eu"): FAST})
    assert network.between("eu", "us") == network.between("us", "eu") == FAST
    assert network.between("eu", "asia") == SLOW
    assert network.between("eu", "eu") is None


def test_the_order_of_links_and_sites_does_not_matter() -> None:
    one, other = (
        Network(SLOW, {("a", "b"): FAST, ("c", "d"): SLOW}),
        Network(SLOW, {("d", "c"): SLOW, ("b", "a"): FAST}),
    )
    assert one == other
    assert hash(one) == hash(other)
    assert pickle.loads(pickle.dumps(one)) == one
    assert Network(SLOW, {("a", "b"): FAST, ("b", "a"): FAST}) == Network(SLOW, {("a", "b"): FAST})
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.default = FAST  # type: ignore[misc]  # it is frozen, which is tested


@pytest.mark.parametrize(
    ("default", "links", "message"),
    [
        ("1 Mbps", None, "The default link must be a Link"),
        (SLOW, [("eu", "us")], "must be a dict"),
        (SLOW, {"euus": FAST}, "not a pair"),
        (SLOW, {("eu", "us", "asia"): FAST}, "not a pair"),
        (SLOW, {("eu", 1): FAST}, "not a pair"),
        (SLOW, {("eu", ""): FAST}, "not a pair"),
        (SLOW, {("eu", "eu"): FAST}, "names one site twice"),
        (SLOW, {("eu", "us"): "1 Mbps"}, "The link between eu and us must be a Link"),
        (SLOW, {("eu", "us"): FAST, ("us", "eu"): SLOW}, "given twice"),
    ],
)
def test_another_network_is_refused(default: Link, links: dict[tuple[str, str], Link], message: str) -> None:
    with pytest.raises(StrategyError, match=message) as refused:
        Network(default, links)
    assert refused.value.hint
