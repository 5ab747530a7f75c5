"""Which payload files stay, and which merges take payloads along."""

from __future__ import annotations

from dataclasses import replace

from braid.control.keeping import MOST_PAYLOAD_STEPS, needed_payloads, taking_payloads
from braid.state.manifest import Block, Merge
from braid.state.paging.payload_files import PayloadFile
from braid.state.terms import Term


def block(first: int, last: int, stream: int = 0, addressed: bool = True) -> Block:
    return Block(f"{stream}-{first}-{last}", stream, first, last, 0, None, 1, 1, 0, 0, addressed=addressed)


def payload(step: int, stream: int = 0) -> PayloadFile:
    return PayloadFile(f"p{stream}-{step}", stream, step, 0, step, 1, 1, 1, ("r.note",))


def term(step: int) -> Term:
    return Term(step, (None, None), ((1,), (0,)), (), 0, 0)


def test_a_payload_file_stays_as_long_as_a_block_has_addresses_in_it() -> None:
    files = [payload(1), payload(2), payload(3), payload(2, stream=1), payload(5)]
    kept, gone = needed_payloads(files, [block(2, 4), block(5, 5, addressed=False)], (), 5)
    assert kept == (files[1], files[2])
    assert gone == ("p0-1", "p1-2", "p0-5")


def test_rows_under_way_keep_the_payloads_that_were_stored_when_their_term_began() -> None:
    kept, gone = needed_payloads([payload(1)], [], [term(4)], 5)
    assert kept == (replace(payload(1), unneeded_since=5),)
    assert gone == ()
    assert needed_payloads(kept, [], [term(5), term(7)], 8) == (kept, ())
    # Terms that began after the last block had left cannot have rows of it.
    assert needed_payloads(kept, [], [term(6), term(7)], 8) == ((), ("p0-1",))


def test_merges_of_many_steps_take_payloads_along() -> None:
    blocks = [block(0, 9), block(10, MOST_PAYLOAD_STEPS - 1), block(MOST_PAYLOAD_STEPS, 99), block(0, 99, 1, False)]
    names = [one.file for one in blocks]
    merges = [
        Merge(0, (names[0], names[1]), 0, None),
        Merge(0, tuple(names[:3]), 0, None),
        Merge(1, (names[3],), 0, None),
    ]
    assert [merge.whole for merge in taking_payloads(merges, blocks)] == [False, True, False]
