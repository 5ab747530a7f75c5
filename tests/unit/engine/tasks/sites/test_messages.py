"""Messages between sites: all that a unit says of one subject in a round is one message, counted by its intervals."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from braid.engine.tasks.sites.messages import Inbox, Outbox, Topic
from braid.plan.layout import Layout, SiteSlots
from braid.state.site_state import Sent

LAYOUT = Layout(0, "sites", (2,), (1,), sites=(SiteSlots("a", (0,)), SiteSlots("b", (1,))), homes=(0, 1))
BATCH = pa.RecordBatch.from_pydict({"v0": pa.array([1, 2, 3])})
PAYLOAD = 24


def outbox() -> Outbox:
    return Outbox(LAYOUT, 0, slots=2, interval_us=100)


def times(*found: int) -> np.ndarray:
    return np.array(found, np.int64)


def only(box: Outbox) -> Sent:
    (sent,) = box.sent
    assert (sent.source, sent.target) == (0, 1)
    return sent


def test_counts_and_rows_of_a_copy_are_one_message() -> None:
    box = outbox()
    box.send(1, Topic("counts", copy=0), BATCH, times(10, 190))
    box.send(1, Topic("copied", copy=0, new=True), BATCH, times(120))
    sent = only(box)
    assert (sent.payload, sent.messages, sent.modelled_messages) == (2 * PAYLOAD, 1, 2)
    assert sent.framing > 0


def test_copies_and_lookups_are_messages_of_their_own() -> None:
    box = outbox()
    box.send(1, Topic("counts", copy=0), BATCH)
    box.send(1, Topic("counts", copy=1), BATCH)
    box.send(1, Topic("rows", 0, 0), BATCH, times(10, 20))
    box.send(1, Topic("keys", 0, 0), BATCH, times(10, 110))
    box.send(1, Topic("keys", 1, 0), BATCH)
    sent = only(box)
    assert (sent.payload, sent.messages, sent.modelled_messages) == (5 * PAYLOAD, 5, 6)


def test_an_answer_has_the_intervals_of_its_request() -> None:
    asking = outbox()
    asking.send(1, Topic("keys", 0, 0), BATCH, times(10, 110, 250))
    (request,) = Inbox(1, [asking.pieces()]).messages
    assert request.topic.intervals == 3
    answering = outbox()
    answering.send(1, Topic("copied", copy=0, intervals=request.topic.intervals), BATCH)
    answering.send(1, Topic("copied", copy=0, new=True, intervals=request.topic.intervals), BATCH)
    assert (only(answering).messages, only(answering).modelled_messages) == (1, 3)


def test_what_stays_at_a_site_and_what_is_empty_is_no_message() -> None:
    box = outbox()
    box.keep(Topic("kept", 0, 0), BATCH)
    box.send(1, Topic("rows", 0, 0), BATCH.slice(0, 0), times())
    assert box.sent == ()
