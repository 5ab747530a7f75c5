"""In which round each site does what."""

from __future__ import annotations

import pytest

from braid.placement.site_rounds import deeds_of, rounds_of, sites_before
from braid.plan.sites import Algorithm, SiteSequence, SiteStep

HOMES = (0, 1, 2)


def sequence(*steps: tuple[int, str]) -> SiteSequence:
    return SiteSequence(tuple(SiteStep(stream, Algorithm(name)) for stream, name in steps))


def done(sequences: tuple[SiteSequence, ...], head: int, homes: tuple[int, ...] = HOMES) -> list[tuple[int, str, int]]:
    """Round, action and site of what is done for the rows of a stream."""
    return [(deed.round, deed.action, deed.site) for deed in deeds_of(sequences, homes) if deed.head == head]


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        ("SP-S", [(1, "look up", 0)]),
        ("SP-D", [(0, "send rows", 0), (1, "look up", 1)]),
        ("SM-S1", [(0, "send keys", 0), (1, "answer rows", 1), (2, "look up", 0)]),
        ("SM-S2", [(1, "request rows", 0), (2, "answer rows", 1), (3, "look up", 0)]),
        ("SM-D1", [(1, "send by copy", 0), (2, "look up", 1)]),
        ("SM-D2", [(0, "send keys", 0), (1, "answer keys", 1), (2, "send by answer", 0), (3, "look up", 1)]),
    ],
)
def test_what_each_algorithm_does(algorithm: str, expected: list[tuple[int, str, int]]) -> None:
    """A copy is up to date after round 0."""
    assert done((sequence((1, algorithm)), sequence((0, "SP-D"))), 0, HOMES[:2]) == expected


def test_a_lookup_begins_where_and_when_the_one_before_ended() -> None:
    sequences = (
        sequence((1, "SM-D2"), (2, "SM-S1")),
        sequence((0, "SP-S"), (2, "SP-D")),
        sequence((1, "SP-D"), (0, "SP-S")),
    )
    assert done(sequences, 0)[3:] == [
        (3, "look up", 1),
        (3, "send keys", 1),
        (4, "answer rows", 2),
        (5, "look up", 1),
    ]
    assert sites_before(sequences[0], 0, HOMES) == (0, 1, 1)
    assert done(sequences, 1) == [(1, "look up", 1), (1, "send rows", 1), (2, "look up", 2)]
    assert rounds_of(sequences, HOMES) == 6


@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_at_one_site_nothing_is_sent(algorithm: Algorithm) -> None:
    sequences = (sequence((1, algorithm)), sequence((0, algorithm)))
    assert done(sequences, 0, (0, 0)) == [(0, "look up", 0)]
    assert rounds_of(sequences, (0, 0)) == 2, "copies would be up to date"
