"""A run before it is started: nothing runs, nothing is written."""

from __future__ import annotations

import threading
from pathlib import Path
from unittest.mock import Mock

from braid.optimizer.build import build_plan
from braid.optimizer.exchange import ChosenExchange
from braid.optimizer.strategies import Auto
from braid.spark.run.execution import Execution
from braid.spark.run.job import Job
from braid.spark.run.opening import Opened
from braid.state.checkpoint import Checkpoint
from braid.state.files import LocalFiles
from braid.state.ownership import Ownership
from braid.testing.drafts import Draft


def test_the_constructor_starts_nothing(tmp_path: Path) -> None:
    draft = Draft()
    for name in "ab":
        draft.stream(name, {"k": "bigint"}, window_us=10, idle_after_ms=1)
    plan = build_plan(draft.logical_plan())
    spark, cluster, sink, reports = Mock(), Mock(), Mock(), Mock()
    checkpoint = Checkpoint(LocalFiles(), str(tmp_path))
    owner = Ownership(checkpoint.files, checkpoint.path, "a run", 1)
    exchange = ChosenExchange("files", "by a test")
    opened = Opened("an id", plan, Auto().layout(plan, 2), checkpoint, cluster, reports, exchange, sink, owner)
    trigger = {"availableNow": True}
    job = Job(draft.logical_plan(), Auto(), None, None, True, [], str(tmp_path), sink, trigger, "a name", 1000)
    before = threading.enumerate()
    execution = Execution(spark, job, opened)
    assert threading.enumerate() == before
    assert not any(mock.mock_calls for mock in (spark, cluster, sink, reports))
    assert not list(tmp_path.iterdir())
    assert (execution.active, execution.state) == (False, "stopped")
    assert (execution.id, execution.run_id, execution.name) == ("an id", "a run", "a name")
