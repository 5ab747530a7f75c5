"""The status of a query as data and as text."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from braid.engine.metered_cluster import RunningJob
from braid.engine.status import describe_running, describe_status, explain_now
from tests.unit.control.waiting_query import WaitingQuery, logical_plan, rows


def test_the_status_is_plain_and_the_page_says_the_same(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True), tmp_path).feed(f=rows(4, 5, None), w=rows(3))
    status = describe_status(case.plan, case.standing, "waiting")
    assert json.loads(json.dumps(status)) == status
    assert status == {
        "message": "2 rows of f wait for w",
        "step": 0,
        "running": None,
        "watermarks": {"f": "1970-01-01T00:00:05.000Z", "w": "1970-01-01T00:00:03.000Z"},
        "newestTimes": {"f": "1970-01-01T00:00:05.000Z", "w": "1970-01-01T00:00:03.000Z"},
        "idle": [],
        "lateRows": {"f": 1, "w": 0},
        "storedRows": {"f": 2, "w": 1},
        "buffered": {"rows": {"f": 2, "w": 0}, "results": 0},
        "emittedUntil": "1970-01-01T00:00:03.000Z",
        "waits": [{"what": "rows", "stream": "f", "rows": 2, "for": ["w"]}],
    }
    page = explain_now(case.plan, case.standing, "waiting")
    assert "f: newest row 1970-01-01T00:00:05.000Z" in page
    assert "2 rows stored, 1 late, 2 buffered" in page
    assert page.endswith("waits: 2 rows of f wait for w")


def test_a_running_job_says_how_far_it_is(tmp_path: Path) -> None:
    case = WaitingQuery(logical_plan(ordered=True), tmp_path)
    running = describe_running(RunningJob("probe", 2, 3, time.monotonic() - 7), (5, 32))
    assert running["seconds"] >= 7
    assert running["share"] is None
    said = describe_status(case.plan, case.standing, "running step 4", running)["message"]
    assert said.startswith("running step 4 (probe, round 2 of 3, 5 of 32 tasks done after 7.")
    far = describe_running(RunningJob("probe", 2, 3, time.monotonic() - 7), (5, 32), [0.5, 0.7])
    assert far["share"] == pytest.approx(6.2 / 32, abs=1e-3)
    assert (
        ", 5 of 32 tasks done, 19% of the work after 7."
        in describe_status(case.plan, case.standing, "running step 4", far)["message"]
    )
    unknown = describe_running(RunningJob("ingest", 1, 0, time.monotonic()), None)
    assert describe_status(case.plan, case.standing, "running step 4", unknown)["message"].startswith(
        "running step 4 (ingest after 0."
    )
