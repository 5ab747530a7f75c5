"""In which round each site does what, so that the new rows of every stream go through their sequence.

A round ends with messages, which the next one begins with. The sequence of one stream does not wait for those of
others. In round 0 the sites of stored streams send what copies of them need; where a copy is used, the lookup begins in
round 1. Where both streams are at one site nothing is sent, whatever the algorithm.

| algorithm | rounds from the first | at the source | at the site of the stored stream |
| --- | --- | --- | --- |
| SP-S | 0 | looks up its copy | |
| SP-D | 0, 1 | sends rows | looks up |
| SM-S1 | 0, 1, 2 | sends keys; then looks up | answers with rows |
| SM-S2 | 0, 1, 2 | requests rows of keys in its copy; then looks up | answers with rows |
| SM-D1 | 0, 1 | sends rows with keys in its copy | looks up |
| SM-D2 | 0, 1, 2, 3 | sends keys; then sends rows with keys that came back | answers with keys; then looks up |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from braid.plan.sites import Algorithm, SiteSequence

Action = Literal[
    "send rows", "send keys", "request rows", "answer rows", "answer keys", "send by copy", "send by answer", "look up"
]

# What each algorithm does, with the round from its first one, and whether it is done at the source.
_ACTIONS: dict[Algorithm, tuple[tuple[int, Action, bool], ...]] = {
    Algorithm.SP_S: ((0, "look up", True),),
    Algorithm.SP_D: ((0, "send rows", True), (1, "look up", False)),
    Algorithm.SM_S1: ((0, "send keys", True), (1, "answer rows", False), (2, "look up", True)),
    Algorithm.SM_S2: ((0, "request rows", True), (1, "answer rows", False), (2, "look up", True)),
    Algorithm.SM_D1: ((0, "send by copy", True), (1, "look up", False)),
    Algorithm.SM_D2: (
        (0, "send keys", True),
        (1, "answer keys", False),
        (2, "send by answer", True),
        (3, "look up", False),
    ),
}
_WITH_UPDATED_COPY = (Algorithm.SP_S, Algorithm.SM_S2, Algorithm.SM_D1)


@dataclass(frozen=True)
class Deed:
    """What a site does for the rows of a stream: in `round`, for the lookup at a `position` of its sequence.

    The rows are at the site `source` when the position begins.
    """

    round: int
    head: int
    position: int
    stream: int
    algorithm: Algorithm
    action: Action
    site: int
    source: int


@lru_cache(maxsize=64)
def deeds_of(sequences: tuple[SiteSequence, ...], homes: tuple[int, ...]) -> tuple[Deed, ...]:
    """All that is done in a step, in the order of rounds and positions."""
    found = [deed for head, sequence in enumerate(sequences) for deed in _of_head(head, sequence, homes)]
    return tuple(sorted(found, key=lambda deed: (deed.round, deed.position, deed.head)))


def rounds_of(sequences: tuple[SiteSequence, ...], homes: tuple[int, ...]) -> int:
    """The number of rounds; at least two, so that copies are up to date after a step that looks nothing up."""
    return 1 + max((1, *(deed.round for deed in deeds_of(sequences, homes))))


def sites_before(sequence: SiteSequence, head: int, homes: Sequence[int]) -> tuple[int, ...]:
    """The site of the joined rows before each position of a sequence, and after the last."""
    sites = [homes[head]]
    for step in sequence.steps:
        sites.append(sites[-1] if step.algorithm.at_source else homes[step.stream])
    return tuple(sites)


def _of_head(head: int, sequence: SiteSequence, homes: tuple[int, ...]) -> list[Deed]:
    deeds: list[Deed] = []
    begin = 0
    for position, (step, source) in enumerate(zip(sequence.steps, sites_before(sequence, head, homes), strict=False)):
        home = homes[step.stream]
        algorithm = step.algorithm if source != home else Algorithm.SP_S
        if source != home and algorithm in _WITH_UPDATED_COPY:
            begin = max(begin, 1)
        for after, action, at_source in _ACTIONS[algorithm]:
            site = source if at_source else home
            deeds.append(Deed(begin + after, head, position, step.stream, algorithm, action, site, source))
        begin = deeds[-1].round
    return deeds
