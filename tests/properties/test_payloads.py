"""Wide rows of which few have partners: keys travel, and payloads are fetched for results alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from braid.control import keeping, merging
from braid.engine.explain import explain_query
from braid.optimizer import payloads
from braid.optimizer.build import build_plan
from braid.optimizer.strategies import Auto, Biclique, CoordinatedRouting, Matrix, Partitioned, Strategy, TimeSliced
from braid.plan.logical import LogicalPlan
from braid.state.files import LocalFiles
from braid.testing import Draft, InlineQuery, ManualClock
from braid.testing.expressions import equal
from tests.properties.payloads import payloads_as_measured

STEPS, ROWS, STEP_US = 6, 200, 1_000_000
WIDTH = 1220
NEVER = 1 << 40


@pytest.fixture
def as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    payloads_as_measured(monkeypatch)


def wide_plan(window_steps: int = 3) -> LogicalPlan:
    draft = Draft()
    columns = {"id": "bigint", "k": "bigint", "payload": "string"}
    r, s = (draft.stream(name, columns, window_us=window_steps * STEP_US, lateness_us=0) for name in "rs")
    draft.on(equal(r["k"], s["k"]))
    return draft.logical_plan()


def wide_rows(chance: np.random.Generator, step: int, share: float) -> pa.Table:
    """Rows of about 1,250 bytes; about a `share` of them has a partner in the window."""
    texts = chance.integers(97, 123, (ROWS, WIDTH), dtype=np.uint8).view(f"S{WIDTH}").ravel()
    return pa.table(
        {
            "ts": pa.array(
                np.sort(chance.integers(step * STEP_US, (step + 1) * STEP_US, ROWS)), pa.timestamp("us", "UTC")
            ),
            "id": pa.array(np.arange(ROWS) + step * ROWS),
            "k": pa.array(chance.integers(0, round(ROWS * 3 / share), ROWS)),
            "payload": pa.array(texts).cast(pa.string()),
        }
    )


def run_wide(
    directory: Path, strategy: Strategy | None = None, share: float = 0.01, steps: int = STEPS, window: int = 3
) -> tuple[InlineQuery, list[dict[str, Any]]]:
    """All steps of a query on two slots, and their progress."""
    clock, chance = ManualClock(0), np.random.default_rng(7)
    query = InlineQuery(wide_plan(window), str(directory), strategy=strategy, slots=2, ingest_tasks=2, clock=clock)
    records = []
    for step in range(steps):
        clock.advance(1000)
        records.append(query.run(step, {name: wide_rows(chance, step, share) for name in "rs"}) or {})
    return query, records


def results(query: InlineQuery) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row.values()) for row in query.published().to_pylist())


@pytest.mark.usefixtures("as_measured")
def test_few_bytes_of_wide_rows_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With one row of a hundred matching, at most a fifth of the bytes move between slots; the rows are the same."""
    apart, records = run_wide(tmp_path / "apart")
    assert apart.steps.manifest.payloads_apart == (0, 1)
    assert any("stored apart" in text for text in records[1]["adaptations"])
    monkeypatch.setattr(payloads, "WIDE_BYTES", NEVER)
    whole, others = run_wide(tmp_path / "whole")
    assert whole.steps.manifest.payloads == ()
    found = results(apart)
    assert found == results(whole)
    assert 5 < found.total() < 40
    for name in ("bytesMoved", "bytesModelled"):
        few, all_ = (sum(record[name] for record in seen[2:]) for seen in (records, others))
        assert few <= 0.2 * all_, name


@pytest.mark.usefixtures("as_measured")
@pytest.mark.parametrize(
    "strategy",
    [
        Partitioned(3),
        Partitioned(2, groups=7),
        Biclique((2, 3)),
        Biclique(routing="contrand"),
        Matrix(2, 2),
        TimeSliced(),
        CoordinatedRouting(2),
    ],
    ids=str,
)
def test_all_strategies_find_the_same_wide_rows(strategy: Strategy, tmp_path: Path) -> None:
    chosen, _ = run_wide(tmp_path / "chosen", strategy, share=0.1)
    assert chosen.steps.manifest.payloads
    auto, _ = run_wide(tmp_path / "auto", Auto(), share=0.1)
    assert results(chosen) == results(auto)


@pytest.mark.usefixtures("as_measured")
def test_payload_files_leave_with_the_rows_that_have_addresses_in_them(tmp_path: Path) -> None:
    query, _ = run_wide(tmp_path, share=0.1, steps=9)
    manifest = query.steps.manifest
    live = {(block.stream, block.first_step) for block in manifest.blocks if block.addressed}
    assert {(payload.stream, payload.step) for payload in manifest.payloads} == live
    assert min(payload.step for payload in manifest.payloads) > 2
    names = {name for name in LocalFiles().list(f"{query.checkpoint.path}/blocks") if name.endswith(".payload")}
    assert {payload.file for payload in manifest.payloads} <= names
    assert names <= {payload.file for payload in manifest.payloads} | set(manifest.dropped)


@pytest.mark.usefixtures("as_measured")
def test_merges_of_many_steps_take_payloads_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So their number is bounded, whatever the window is."""
    monkeypatch.setattr(keeping, "MOST_PAYLOAD_STEPS", 2)
    monkeypatch.setattr(merging, "FAN_IN", 2)
    monkeypatch.setattr(merging, "CLOSED_FAN_IN", 2)
    query, _ = run_wide(tmp_path / "merged", share=0.1, steps=8, window=100)
    blocks = query.steps.manifest.blocks
    assert any(block.last_step - block.first_step >= 2 and not block.addressed for block in blocks)
    assert all(block.last_step - block.first_step < 2 for block in blocks if block.addressed)
    assert len({payload.step for payload in query.steps.manifest.payloads}) <= 4
    other, _ = run_wide(tmp_path / "other", share=0.1, steps=8, window=100)
    assert results(query) == results(other)


@pytest.mark.usefixtures("as_measured")
def test_explain_says_how_wide_payloads_are_stored_and_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query, _ = run_wide(tmp_path, steps=3)
    plan, manifest = build_plan(wide_plan()), query.steps.manifest
    text = explain_query(wide_plan(), plan, Auto(), 2, "layout", manifest, "files")
    assert "r: payloads are stored apart, and fetched for results: payloads of 1," in text
    monkeypatch.setattr(payloads, "MOST_RESULTS", -1.0)
    text = explain_query(wide_plan(), plan, Auto(), 2, "layout", manifest, "files")
    assert "r: from the next step on, payloads are stored with their rows" in text


@pytest.mark.usefixtures("as_measured")
def test_narrow_rows_keep_their_payloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.properties.test_payloads.WIDTH", 40)
    query, records = run_wide(tmp_path, steps=3)
    assert query.steps.manifest.payloads == ()
    assert records[-1]["bytesFetched"] == 0
