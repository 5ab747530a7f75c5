"""What a stream's payload is: the columns that only the selection reads."""

from __future__ import annotations

from braid.optimizer.build import build_plan
from braid.plan.payloads import payload_columns
from braid.testing import Draft
from braid.testing.expressions import constant, equal, within


def test_columns_that_conditions_read_are_no_payload() -> None:
    draft = Draft()
    columns = {"k": "bigint", "x": "double", "note": "string", "id": "bigint"}
    r, s = (draft.stream(name, columns, window_us=10, lateness_us=0) for name in "rs")
    draft.on(equal(r["k"], s["k"])).on(within(r["x"], s["x"], constant(1.0, "double")))
    plan = build_plan(draft.logical_plan())
    assert payload_columns(plan, 0) == ("r.note", "r.id")
    assert payload_columns(plan, 1) == ("s.note", "s.id")


def test_a_stream_may_have_no_payload() -> None:
    draft = Draft()
    r, s = (draft.stream(name, {"k": "bigint"}, window_us=10, lateness_us=0) for name in "rs")
    draft.on(equal(r["k"], s["k"]))
    assert payload_columns(build_plan(draft.logical_plan()), 0) == ()
