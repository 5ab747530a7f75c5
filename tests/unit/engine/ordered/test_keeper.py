"""The pace that Adaptive decides by, through real steps without Spark: both switches, restarts, and waiting times."""

from __future__ import annotations

import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control import ordering
from braid.control.ordering import Ordering, Policy
from braid.engine.commands import ReleaseCommand
from braid.optimizer.strategies import Partitioned, TimeSliced
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal

ADAPTIVE = Ordering("adaptive", 0.3)
ROWS = 200


class Feed:
    """A query whose streams bring so many rows a batch, in as little or much time of the clock as a test wants."""

    def __init__(self, directory: Path, clock: ManualClock, policy: Ordering = ADAPTIVE) -> None:
        draft = Draft()
        streams = [draft.stream(name, {"k": "bigint"}, window_us=60_000_000) for name in "rs"]
        logical_plan = draft.on(equal(streams[0]["k"], streams[1]["k"])).ordered().logical_plan()
        self._clock = clock
        self.query = InlineQuery(logical_plan, str(directory), strategy=Partitioned(), clock=clock, ordering=policy)

    def batch(self, milliseconds: int) -> dict[str, Any]:
        self._clock.advance(milliseconds)
        number = self.query.last_batch + 1
        times = (number * ROWS + np.arange(ROWS)) * 1000
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": np.arange(ROWS) % 10})
        progress = self.query.run(number, {"r": table.slice(0, ROWS // 2), "s": table})
        assert progress is not None
        return progress


def test_adaptive_changes_both_ways_and_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lookups take the time they take; when batches come a millisecond apart it is a large share, later a small one."""
    monkeypatch.setattr(ordering, "MIN_OBSERVED_SECONDS", 0.0005)
    feed = Feed(tmp_path, ManualClock(1))
    quick = [feed.batch(1) for _ in range(4)]
    slow = [feed.batch(100_000) for _ in range(12)]
    said = [text for progress in (*quick, *slow) for text in progress["adaptations"]]
    assert quick[-1]["order"]["holds"] == "results"
    assert slow[-1]["order"]["holds"] == "rows"
    assert len(said) == 2
    assert said[0].startswith("buffers results: lookups would delay rows by")
    assert said[1].endswith("less than 0.7 of alpha 0.3")


@pytest.mark.parametrize(("keys", "slots_at_work"), [(1, 1), (40, 2)])
def test_the_slot_that_takes_longest_delays_every_row(tmp_path: Path, keys: int, slots_at_work: int) -> None:
    """Rows of one key are looked up on one slot: it delays them by as much as all slots take together."""
    draft = Draft()
    streams = [draft.stream(name, {"k": "bigint"}, window_us=60_000_000) for name in "rs"]
    logical_plan = draft.on(equal(streams[0]["k"], streams[1]["k"])).ordered().logical_plan()
    clock = ManualClock(1)
    query = InlineQuery(
        logical_plan,
        str(tmp_path),
        slots=2,
        strategy=Partitioned(),
        clock=clock,
        ordering=Ordering("filter-order", 0.3),
    )
    for step in range(5):
        clock.advance(1000)
        times = (step * ROWS + np.arange(ROWS)) * 1000
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": np.arange(ROWS) % keys})
        query.run(step, {"r": table, "s": table})
    state = query.steps.manifest.order_state
    assert state is not None
    for busy, delay in zip(state.pace.busy, state.pace.delays, strict=True):
        assert busy / slots_at_work <= delay * (1 + 1e-9)
        assert delay <= busy
        assert (delay == pytest.approx(busy)) == (slots_at_work == 1)


def test_the_first_step_of_a_run_says_nothing_of_the_pace(tmp_path: Path) -> None:
    """Its rows waited in the source for a time nobody knows."""
    clock = ManualClock(1)
    feed = Feed(tmp_path, clock)
    assert feed.batch(1000)["order"]["lookupDelay"] is None
    for _ in range(3):
        feed.batch(1000)
    manifest = feed.query.steps.manifest
    assert manifest.order_state is not None
    again = Feed(tmp_path, clock)
    again.batch(3_600_000)
    after = again.query.steps.manifest.order_state
    assert after is not None
    assert after.pace == manifest.order_state.pace
    again.batch(1000)
    later = again.query.steps.manifest.order_state
    assert later is not None
    assert 0 < later.pace.seconds - after.pace.seconds < 1


def test_rows_have_waited_until_they_were_released(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(1)
    feed = Feed(tmp_path, clock, Ordering("filter-order", 0.3))
    run: Any = feed.query.cluster.run

    def release_slowly(command: Any) -> Any:
        clock.advance(700 if isinstance(command, ReleaseCommand) else 0)
        return run(command)

    monkeypatch.setattr(feed.query.cluster, "run", release_slowly)
    feed.batch(1000)
    waited = feed.batch(1000)["order"]["rowResponse"]
    assert waited["p50Ms"] == 700.0
    assert waited["p99Ms"] >= 700.0


def test_results_that_buffered_rows_find_are_as_late_as_these(tmp_path: Path) -> None:
    """A batch lets its first half out at once, and the half of one stream that waited for it since the batch before."""
    feed = Feed(tmp_path, ManualClock(1), Ordering("sync-filter", 0.3))
    feed.batch(1000)
    order = feed.batch(1000)["order"]
    rows, results = order["rowResponse"], order["resultResponse"]
    assert rows == {"rows": 300, "averageMs": 333.3, "p50Ms": 0.0, "p99Ms": 1000.0}
    assert results["rows"] > 0
    assert {**results, "rows": 300} == rows


class Interleaved:
    """Four streams, so three rounds; with three steps under way a step runs one job. A batch has a key of its own."""

    def __init__(self, directory: Path, clock: ManualClock, policy: Policy, interleave: int) -> None:
        draft = Draft()
        made = [draft.stream(f"s{number}", {"k": "bigint"}, window_us=60_000_000) for number in range(4)]
        for left, right in pairwise(made):
            draft.on(equal(left["k"], right["k"]))
        self._clock = clock
        strategy, ordered = TimeSliced(2, interleave=interleave), Ordering(policy, 0.3)
        self.query = InlineQuery(
            draft.ordered().logical_plan(), str(directory), strategy=strategy, clock=clock, ordering=ordered
        )

    def batch(self) -> dict[str, Any] | None:
        """A second later, one row of every stream with the same key and time: one result."""
        self._clock.advance(1000)
        number = self.query.last_batch + 1
        times = pa.array([1000 * number], pa.timestamp("us", "UTC"))
        table = pa.table({"ts": times, "k": pa.array([number], pa.int64())})
        return self.response(self.query.run(number, {f"s{stream}": table for stream in range(4)}))

    def response(self, progress: dict[str, Any] | None) -> dict[str, Any] | None:
        assert progress is not None
        found: dict[str, Any] | None = progress["order"]["resultResponse"]
        return found


def test_results_of_trailing_rounds_have_waited_since_their_rows_arrived(tmp_path: Path) -> None:
    """A result comes with the last round of its step, two steps after its rows did; its time waits for no other."""
    feed = Interleaved(tmp_path, ManualClock(1), "filter-order", interleave=3)
    waited = [feed.batch() for _ in range(6)]
    assert waited[:2] == [None, None]
    assert waited[2:] == [{"rows": 1, "averageMs": 2000.0, "p50Ms": 2000.0, "p99Ms": 2000.0}] * 4
    last = feed.response(feed.query.steps.tick())
    assert last == {"rows": 2, "averageMs": 500.0, "p50Ms": 0.0, "p99Ms": 1000.0}


def test_a_restart_that_buffers_rows_still_knows_when_the_rows_of_trailing_rounds_arrived(tmp_path: Path) -> None:
    """The step after it runs their rounds. Its own result is as late as the rows emitted are, which is an estimate."""
    clock = ManualClock(1)
    first = Interleaved(tmp_path, clock, "filter-order", interleave=3)
    assert [first.batch(), first.batch()] == [None, None]
    again = Interleaved(tmp_path, clock, "sync-filter", interleave=1)
    found = again.batch()
    assert found is not None
    assert (found["rows"], found["p50Ms"], found["p99Ms"]) == (3, 1000.0, 2000.0)


@pytest.mark.parametrize(("policy", "pairs"), [("sync-filter", 1200), ("filter-order", 1560)])
@pytest.mark.parametrize("names", [("slow", "fast"), ("fast", "slow")])
def test_pairs_of_earlier_steps_count_whatever_the_order_of_streams(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Policy, pairs: int, names: tuple[str, str]
) -> None:
    """Four turns of ten steps bring ten fast rows a step, and a slow row with the last.

    In turn t a hundred fast rows meet t - 1 earlier slow ones, a slow row 100 (t - 1) earlier fast ones: 1200 in all.
    Where rows are looked up at once the slow row also meets the 90 of its own turn that came before its step.
    """
    monkeypatch.setattr(ordering, "MEMORY_SECONDS", math.inf)
    monkeypatch.setattr(ordering, "MEMORY_MOVES", math.inf)
    draft = Draft()
    first, second = (draft.stream(name, {"k": "bigint"}, window_us=60_000_000) for name in names)
    logical_plan = draft.on(equal(first["k"], second["k"])).ordered().logical_plan()
    clock = ManualClock(1)
    query = InlineQuery(logical_plan, str(tmp_path), slots=1, clock=clock, ordering=Ordering(policy, 0.3))
    for step in range(40):
        clock.advance(1000)
        times = (10 * step + np.arange(10)) * 1000
        table = pa.table({"ts": pa.array(times, pa.timestamp("us", "UTC")), "k": np.zeros(10, np.int64)})
        query.run(step, {"fast": table, "slow": table.slice(9 if step % 10 == 9 else 10)})
    waiting = query.steps.manifest.order_state
    assert waiting is not None
    assert waiting.pace.compared == pairs
