"""Copies at other sites: after every step they hold the rows and values that they are said to hold, each once."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from braid.control import merging
from braid.engine.tasks.sites import tables
from braid.engine.tasks.sites.messages import batch_table
from braid.optimizer.strategies import Semijoin
from braid.placement.sites import site_of
from braid.plan.site_names import Site
from braid.plan.sites import Algorithm, Copy
from braid.state.blocks import BlockReader
from braid.state.files import LocalFiles
from braid.state.manifest import Manifest
from braid.state.site_state import TableRole
from braid.testing import Draft, InlineQuery, ManualClock, equal
from tests.budget import seeds

# An event time, a join value, and a number that no other row of the stream has.
Row = tuple[int, int, int]
SOURCE, STORED = 0, 1
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.int64()), ("id", pa.int64())])


@pytest.fixture(autouse=True)
def rewrite_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Merge blocks and write whole tables after a few steps."""
    monkeypatch.setattr(merging, "FAN_IN", 3)
    monkeypatch.setattr(merging, "BASE_ROWS", 4)
    monkeypatch.setattr(tables, "MIN_CHANGED_ROWS", 8)


class Looked:
    """Two streams at two sites; the first looks up the second by one algorithm."""

    def __init__(self, path: Path, algorithm: Algorithm, window: int, slots: int = 2) -> None:
        draft = Draft()
        columns = {"k": "bigint", "id": "bigint"}
        here, there = (draft.stream(name, columns, window_us=window, site=Site(name)) for name in ("source", "stored"))
        draft.on(equal(here["k"], there["k"]))
        plans = {"source": [("stored", algorithm.value)], "stored": [("source", "SP-D")]}
        self.query = InlineQuery(
            draft.logical_plan(), str(path), strategy=Semijoin(plans=plans), slots=slots, clock=ManualClock(0)
        )
        self._path = f"{path}/checkpoint/blocks/"
        self.step = 0
        self.progress: dict[str, Any] = {}

    def run(self, source: list[Row], stored: list[Row]) -> None:
        self.progress = self.query.run(self.step, {"source": _table(source), "stored": _table(stored)}) or {}
        self.step += 1

    @property
    def manifest(self) -> Manifest:
        return self.query.steps.manifest

    def copies(self) -> list[Copy]:
        assert self.manifest.sites is not None
        return list(self.manifest.sites.copies)

    def counted(self, role: TableRole, number: int = 0) -> dict[int, tuple[int, bool]]:
        """Of each value, how many rows have it, and whether they were requested; by all units."""
        assert self.manifest.sites is not None
        found: dict[int, tuple[int, bool]] = {}
        for table in self.manifest.sites.tables:
            if (table.copy, table.role) != (number, role):
                continue
            own: dict[int, tuple[int, bool]] = {}
            for file in table.files:
                reader = BlockReader(LocalFiles().map(self._path + file), file)
                for segment in reader.segments:
                    part = batch_table(reader.batch(segment))
                    numbers = zip(part.numbers["count"], part.numbers["requested"], strict=True)
                    own |= {int(key[0]): (int(n), bool(r)) for key, (n, r) in zip(part.tuples, numbers, strict=True)}
            own = {key: value for key, value in own.items() if value[0] > 0}
            assert not set(own) & set(found), "a value is at one unit"
            found |= own
        return found

    def rows(self, site: int) -> Counter[Row]:
        """The rows of the stored stream at a site."""
        layout, found = self.manifest.layout, Counter[Row]()
        for block in self.manifest.blocks:
            assert block.units is not None
            if block.stream == STORED and site_of(layout, block.units[0]) == site:
                reader = BlockReader(LocalFiles().map(self._path + block.file), block.file)
                for segment in reader.segments:
                    columns = reader.batch(segment).to_pydict()
                    times = [int(time.timestamp() * 1e6) for time in columns["stored.ts"]]
                    found.update(zip(times, columns["stored.k"], columns["stored.id"], strict=True))
        return found

    def live_from(self) -> int:
        assert self.manifest.sites is not None
        return self.manifest.sites.departed_us[STORED] or 0


def _table(rows: list[Row]) -> pa.Table:
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[], [], []]
    return pa.table([pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)], SCHEMA)


@dataclass
class Input:
    """Random rows in the order of time; `all` are those of the stored stream so far, `asked` the values of probes."""

    chance: random.Random
    number: int = 0

    def rows(self, step: int) -> list[Row]:
        times = sorted(self.chance.randrange(10 * step, 10 * step + 10) for _ in range(self.chance.randint(0, 8)))
        found = []
        for time in times:
            self.number += 1
            found.append((time, self.chance.randrange(6), self.number))
        return found


@pytest.mark.parametrize("seed", seeds(99_000, 4))
@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_a_copy_holds_what_it_is_said_to_hold(algorithm: Algorithm, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    looked = Looked(tmp_path, algorithm, window=25, slots=chance.randint(2, 5))
    source, stored = Input(chance), Input(chance)
    everything: list[Row] = []
    for step in range(10):
        new = stored.rows(step)
        everything += new
        looked.run(source.rows(step), new)
        live = [row for row in everything if row[0] >= looked.live_from()]
        _compare(looked, algorithm, live)


@pytest.mark.parametrize("seed", seeds(99_500, 2))
@pytest.mark.parametrize("algorithm", list(Algorithm))
def test_a_restart_ships_nothing_again(algorithm: Algorithm, seed: int, tmp_path: Path) -> None:
    """A run that starts again before every step sends what one that goes on sends, link by link and step by step."""
    chance, slots = random.Random(seed), random.Random(seed).randint(2, 5)
    source, stored = Input(chance), Input(chance)
    straight, restarted = tmp_path / "straight", tmp_path / "restarted"
    looked, sent = Looked(straight, algorithm, window=25, slots=slots), 0
    for step in range(8):
        rows = source.rows(step), stored.rows(step)
        again = Looked(restarted, algorithm, window=25, slots=slots)
        again.step = step
        for run in (looked, again):
            run.run(*rows)
        assert again.progress["links"] == looked.progress["links"]
        sent += sum(link["bytes"] for link in looked.progress["links"].values())
        assert again.progress["numOutputRows"] == looked.progress["numOutputRows"]
    assert sent > 0


def _compare(looked: Looked, algorithm: Algorithm, live: list[Row]) -> None:
    copies = looked.copies()
    assert [copy.stream for copy in copies] == ([STORED] if algorithm not in ("SP-D", "SM-D2") else [])
    at_copy = Counter({row: n for row, n in looked.rows(SOURCE).items() if row[0] >= looked.live_from()})
    assert set(at_copy.values()) <= {1}, "no row is shipped twice"
    assert set(at_copy) <= set(live)
    if algorithm == "SP-S":
        assert set(at_copy) == set(live)
    if algorithm in ("SM-S2", "SM-D1"):
        home, remote = looked.counted("home"), looked.counted("remote")
        assert {value: n for value, (n, _) in home.items()} == Counter(value for _, value, _ in live)
        assert remote == home
        requested = {value for value, (_, was_requested) in home.items() if was_requested}
        assert set(at_copy) == {row for row in live if row[1] in requested}


A, C, D, E_, F = 1, 3, 4, 5, 6


def test_example_4_of_the_paper(tmp_path: Path) -> None:
    """Fig. 5 on the engine: c and the first row of a have expired when d, a third row of a, and f arrive.

    Four values with counts remain (the paper's text says three); a and c were requested before, e was not.
    """
    looked = Looked(tmp_path, Algorithm.SM_S2, window=7)
    before: list[Row] = [(0, C, 1), (1, A, 2), (5, A, 3), (6, E_, 4)]
    looked.run([(6, C, 1), (6, A, 2)], before)
    assert looked.counted("home") == looked.counted("remote") == {C: (1, True), A: (2, True), E_: (1, False)}
    assert set(looked.rows(SOURCE)) == {(0, C, 1), (1, A, 2), (5, A, 3)}
    sent = _sent_to_source(looked)
    inserted: list[Row] = [(10, D, 5), (11, A, 6), (12, F, 7)]
    looked.run([(12, 9, 3)], inserted)
    # Rows of a step may still be looked up by rows of its time: what expired leaves the counts with the next step.
    looked.run([(12, 9, 4)], [])
    expected = {A: (2, True), E_: (1, False), D: (1, False), F: (1, False)}
    assert looked.counted("home") == looked.counted("remote") == expected
    live = {row for row in looked.rows(SOURCE) if row[0] >= looked.live_from()}
    assert live == {(5, A, 3), (11, A, 6)}
    assert _sent_to_source(looked) < sent


def _sent_to_source(looked: Looked) -> int:
    return int(looked.progress["links"].get("stored -> source", {}).get("payloadBytes", 0))
