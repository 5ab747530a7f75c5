"""Steps in messages: which number is meant, and which errors get it."""

from __future__ import annotations

import pytest

from braid.engine.step_names import failing_in, name_step
from braid.errors import BraidError, CorruptStateError, PredicateError, SinkError, StorageError, TakenOverError
from braid.optimizer.build import build_plan
from braid.plan.join import JoinPlan
from braid.testing.drafts import Draft


@pytest.fixture
def plan() -> JoinPlan:
    draft = Draft()
    draft.stream("o", {"id": "bigint"}, window_us=10)
    draft.stream("q", {"id": "bigint"}, window_us=10)
    return build_plan(draft.logical_plan())


def test_a_step_has_two_numbers() -> None:
    assert name_step(7, 5, "streaming") == "step 7 (Spark batch 5)"
    assert name_step(7, None, "streaming") == "step 7 (without input)"
    assert name_step(0, 0, "static") == "step 0 (static input)"


@pytest.mark.parametrize("kind", [PredicateError, SinkError, StorageError])
def test_errors_of_the_work_say_what_failed_and_keep_the_rest(plan: JoinPlan, kind: type[BraidError]) -> None:
    cause = ValueError("why")
    with pytest.raises(kind) as caught, failing_in(plan, "step 7 (Spark batch 5)"):
        raise kind("It broke.", "the evidence", "do this") from cause
    error = caught.value
    assert error.message == "The join of o, q failed in step 7 (Spark batch 5): It broke."
    assert (error.detail, error.hint, error.__cause__) == ("the evidence", "do this", cause)


@pytest.mark.parametrize("error", [TakenOverError("newer"), CorruptStateError("damaged"), KeyError("bug")])
def test_other_errors_stay_as_they_are(plan: JoinPlan, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, failing_in(plan, "step 7"):
        raise error
    assert caught.value is error
