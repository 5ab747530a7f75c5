"""Window checks that are skipped: exactly those of lookups in which every pair of rows is inside the window.

A row whose window does not touch the event times of a block is not looked up in it at all. The count in the progress of
every step is compared with one by brute force over all pairs of event times. The checks that do run are counted too, so
a check that is counted as skipped but made all the same is found.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

from braid.control import merging, paths
from braid.control.paths import PathDecision
from braid.engine import delta
from braid.kernels import join
from braid.kernels.checks import Mask
from braid.kernels.probing import Probing, StoredSegment
from braid.kernels.rows import Pairs
from braid.optimizer.strategies import Biclique
from braid.plan.join import SortOrder
from braid.testing import InlineQuery, equal
from braid.testing.drafts import TIMESTAMP, Draft

Times = list[int]
SEEDS = range(20)


@dataclass(frozen=True)
class Feed:
    """The event times of two streams, step by step, and the windows of the streams; None: unbounded."""

    windows: tuple[int | None, int | None]
    steps: tuple[tuple[Times, Times], ...]

    def lookups(self, step: int) -> Iterator[tuple[Times, Times, int]]:
        """New rows with every stored block that they are looked up in, and the number of the probing stream."""
        new = self.steps[step]
        for earlier in self.steps[:step]:
            yield new[0], earlier[1], 0
        for seen in self.steps[: step + 1]:
            yield new[1], seen[0], 1

    def pairs(self, probing: Times, stored: Times, stream: int) -> list[bool]:
        """For every pair that is compared, whether each row is in its window at the newer time of the two.

        A row is compared with the rows of a block if it could join a row at any time that the block spans.
        """
        spanned = range(min(stored), max(stored) + 1) if stored else ()
        compared = [mine for mine in probing if any(self.meet(mine, theirs, stream) for theirs in spanned)]
        return [self.meet(mine, theirs, stream) for mine in compared for theirs in stored]

    def meet(self, mine: int, theirs: int, stream: int) -> bool:
        own, other = self.windows[stream], self.windows[1 - stream]
        newest = max(mine, theirs)
        return (own is None or newest - mine <= own) and (other is None or newest - theirs <= other)

    def skipped(self, step: int) -> int:
        """Lookups with pairs, all of them inside the window."""
        return sum(bool(pairs) and all(pairs) for pairs in (self.pairs(*lookup) for lookup in self.lookups(step)))

    def outside(self, step: int) -> int:
        """Lookups with pairs outside the window."""
        return sum(not all(pairs) for pairs in (self.pairs(*lookup) for lookup in self.lookups(step)))

    def mixed(self, step: int) -> int:
        """Lookups with pairs inside and pairs outside the window."""
        return sum(any(pairs) and not all(pairs) for pairs in (self.pairs(*lookup) for lookup in self.lookups(step)))


def make_feed(seed: int) -> Feed:
    chance = random.Random(seed)
    windows = tuple(chance.choice((0, 5, 12, 40, None)) for _ in range(2))
    steps, start = [], 0
    for _ in range(chance.randint(2, 6)):
        spread = chance.choice((0, 2, 8, 30))
        sides = [[start + chance.randint(0, spread) for _ in range(chance.choice((0, 1, 3, 6)))] for _ in range(2)]
        steps.append((sides[0], sides[1]))
        start += chance.choice((0, 3, 10))
    return Feed((windows[0], windows[1]), tuple(steps))


def run(feed: Feed, path: Path, keyed: bool) -> Iterator[int]:
    """The skipped checks of every step; all rows have the same key, if they have one."""
    draft = Draft()
    streams = [
        draft.stream(name, {"k": "bigint"}, window_us=window, lateness_us=None)
        for name, window in zip("ab", feed.windows, strict=True)
    ]
    if keyed:
        draft.on(equal(streams[0]["k"], streams[1]["k"]))
    query = InlineQuery(draft.logical_plan(), str(path), strategy=Biclique((1, 1)), slots=1, rows_per_batch=1000)
    for number, step in enumerate(feed.steps):
        progress = query.run(number, dict(zip("ab", map(table, step), strict=True)))
        assert progress is not None
        yield sum(unit["windowChecksSkipped"] for unit in progress["units"])


def table(times: Times) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()).cast(TIMESTAMP), "k": pa.array([7] * len(times), pa.int64())})


@pytest.fixture(autouse=True)
def a_block_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without merges every step and stream has one stored segment."""
    for name in ("FAN_IN", "CLOSED_FAN_IN"):
        monkeypatch.setattr(merging, name, 100)


@pytest.mark.parametrize("keyed", [True, False], ids=["by key", "all pairs"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_skipped_checks_are_those_that_can_be_skipped(seed: int, keyed: bool, tmp_path: Path) -> None:
    feed = make_feed(seed)
    assert list(run(feed, tmp_path, keyed)) == [feed.skipped(step) for step in range(len(feed.steps))], feed


@pytest.mark.parametrize("seed", SEEDS)
def test_a_skipped_check_is_not_made(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: set[tuple[int, int]] = set()
    real, kept = join._in_window, []

    def counted(probing: Probing, segment: StoredSegment, pairs: Pairs) -> Mask:
        kept.append((probing, segment))  # alive, so that no later one has the same id
        made.add((id(probing), id(segment)))
        return real(probing, segment, pairs)

    monkeypatch.setattr(join, "_in_window", counted)
    feed = make_feed(seed)
    for step, _ in enumerate(run(feed, tmp_path, keyed=True)):
        # A block that cannot meet the new rows at all is not looked up, and needs no check either.
        assert feed.mixed(step) <= len(made) <= feed.outside(step), feed
        made.clear()


@pytest.mark.parametrize("seed", SEEDS)
def test_the_skipped_checks_of_sub_indexes_are_those_that_can_be_skipped(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of every step are cut by event time into two or three pieces, where they have as many times."""
    feed, most = make_feed(seed), 2 + seed % 2
    monkeypatch.setattr(paths, "MIN_ROWS_PER_PIECE", 1)
    monkeypatch.setattr(paths, "MAX_PIECES", most)
    cut = (SortOrder((), 1), SortOrder((), 1))
    monkeypatch.setattr(delta, "decide_paths", lambda *_: PathDecision(cut, ()))
    expected = []
    for step in range(len(feed.steps)):
        skipped = 0
        for probing, stored, stream in feed.lookups(step):
            count = min(most, len(stored), max(stored) - min(stored) + 1) if stored else 1
            parts = [feed.pairs(probing, piece, stream) for piece in pieces(stored, count)]
            skipped += sum(bool(pairs) and all(pairs) for pairs in parts)
        expected.append(skipped)
    assert list(run(feed, tmp_path, keyed=True)) == expected, feed


def pieces(stored: Times, count: int) -> list[Times]:
    """Rows in pieces of event time with about equal numbers of rows; rows of one time stay together."""
    ordered = sorted(stored)
    edges = [ordered[number * len(ordered) // count] for number in range(1, count)]
    return [[time for time in stored if sum(edge <= time for edge in edges) == number] for number in range(count)]


def test_the_cases_have_checks_of_both_kinds() -> None:
    feeds = [make_feed(seed) for seed in SEEDS]
    assert sum(feed.skipped(step) for feed in feeds for step in range(len(feed.steps))) > 30
    assert sum(feed.mixed(step) for feed in feeds for step in range(len(feed.steps))) > 25
