"""Where payloads are stored: apart if they are wide and results are few."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.engine.next_manifest import before_first_step
from braid.optimizer.build import build_plan
from braid.optimizer.payloads import (
    WIDE_BYTES,
    changes_of,
    choose_payloads,
    describe_payloads,
    results_per_row,
    streams_apart,
)
from braid.optimizer.strategies import Auto
from braid.plan.join import JoinPlan
from braid.state.manifest import Fanout, Manifest
from braid.testing import Draft
from braid.testing.expressions import equal


def made(window_rows: int | None = None, columns: tuple[str, ...] = ("k", "note")) -> tuple[JoinPlan, Manifest]:
    draft = Draft()
    types = {"k": "bigint", "note": "string"}
    own = {name: types[name] for name in columns}
    r, s = (
        draft.stream(name, own, window_us=None if window_rows else 10, lateness_us=0, window_rows=window_rows)
        for name in "rs"
    )
    plan = build_plan(draft.on(equal(r["k"], s["k"])).logical_plan())
    return plan, before_first_step(plan, "run", Auto().layout(plan, 2), 0)


def test_wide_payloads_with_few_results_are_stored_apart() -> None:
    plan, manifest = made()
    observed = (Fanout(0, 1, (0,), 100.0, 10.0, 10.0), Fanout(1, 0, (1,), 100.0, 10.0, 10.0))
    known = replace(manifest, payload_widths=(WIDE_BYTES, WIDE_BYTES - 1.0), fanouts=observed)
    choices = choose_payloads(plan, known.layout, known)
    assert streams_apart(choices) == (0,)
    assert choices[0].reason == "payloads of 512 bytes a row, 0.1 results for each"
    assert "fewer than 512" in choices[1].reason
    assert list(changes_of(plan, (), choices)) == [
        "r: payloads are stored apart, and fetched for results: payloads of 512 bytes a row, 0.1 results for each"
    ]


@pytest.mark.parametrize(("matches", "apart"), [(100.0, (0, 1)), (101.0, ())])
def test_many_results_would_fetch_more_than_whole_rows(matches: float, apart: tuple[int, ...]) -> None:
    plan, manifest = made()
    known = replace(manifest, payload_widths=(2000.0,) * 2, fanouts=(Fanout(0, 1, (0,), 100.0, matches, matches),))
    assert streams_apart(choose_payloads(plan, known.layout, known)) == apart


def test_the_first_step_measures() -> None:
    plan, manifest = made()
    choices = choose_payloads(plan, manifest.layout, manifest)
    assert streams_apart(choices) == ()
    assert "first step" in choices[0].reason


def test_what_needs_whole_rows_says_so() -> None:
    plan, manifest = made(window_rows=3)
    known = replace(manifest, payload_widths=(2000.0, 2000.0))
    assert "count rows" in choose_payloads(plan, known.layout, known)[0].reason
    plan, manifest = made()
    known = replace(manifest, payload_widths=(2000.0, 2000.0))
    sites = replace(known.layout, kind="sites")
    assert "sites" in choose_payloads(plan, sites, known)[0].reason
    plan, manifest = made(columns=("k",))
    assert "read by lookups" in choose_payloads(plan, manifest.layout, manifest)[0].reason


@pytest.mark.parametrize(
    ("exchange", "limited", "said"),
    [
        ("files", False, "from the next step on, payloads are stored apart"),
        ("shuffle of Spark's", False, "payloads are stored with their rows: a shuffle stores rows once"),
        ("files", True, "payloads are stored with their rows: under a memory limit"),
    ],
)
def test_explain_says_why_a_run_stores_whole_rows(exchange: str, limited: bool, said: str) -> None:
    plan, manifest = made()
    known = replace(manifest, payload_widths=(2000.0, 1.0))
    (line,) = describe_payloads(plan, known, exchange, limited)
    assert line.startswith(f"r: {said}")


def test_results_are_what_the_last_lookups_find() -> None:
    first, second = Fanout(0, 1, (0,), 50.0, 200.0, 200.0), Fanout(0, 2, (0, 1), 200.0, 10.0, 10.0)
    assert results_per_row((first, second)) == 0.2
    assert results_per_row(()) is None
