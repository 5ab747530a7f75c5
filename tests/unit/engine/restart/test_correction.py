"""Which corrected queries may take over a failed step, and under which plan."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from braid.engine.restart.fingerprint import fingerprint
from braid.engine.restart.identity import continue_plan
from braid.errors import RestartError
from braid.optimizer.build import build_plan
from braid.plan.expressions import Call, Expression
from braid.plan.logical import LogicalPlan
from braid.plan.predicate import Conjunct, PythonPredicate
from braid.testing import Draft, DraftStream
from braid.testing.expressions import add, coalesce, constant, equal, less, less_or_equal

Predicate = Callable[[DraftStream, DraftStream], Expression]


def plan_of(*predicates: Predicate, window_us: int = 10) -> LogicalPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"x": "bigint", "k": "bigint"}, window_us=window_us) for name in ("a", "b"))
    for predicate in predicates:
        draft.on(predicate(a, b))
    logical_plan = draft.logical_plan()
    return replace(logical_plan, conjuncts=tuple(_as_tried(conjunct) for conjunct in logical_plan.conjuncts))


def _as_tried(conjunct: Conjunct) -> Conjunct:
    """Drafts write a division that cannot raise like any other; here it is to differ from one that can."""
    if conjunct.raises:
        return conjunct
    text = conjunct.sql.replace(" / ", " try/ ")
    return replace(conjunct, sql=text, written=text)


def quotient(of: DraftStream, by: DraftStream, raises: bool) -> Expression:
    """`x / k`, or `try_divide(x, k)`: no row makes that raise, and NULL still gives NULL."""
    return Call("divide", (of["x"], by["k"]), "double", ansi=raises)


def above_two(raises: bool, alone: bool = False) -> Predicate:
    """A quotient of both streams, or of b alone, above 2."""
    return lambda a, b: less(constant(2.0, "double"), quotient(b if alone else a, b, raises))


def equal_quotients(raises: bool) -> Predicate:
    return lambda a, b: equal(quotient(a, a, raises), quotient(b, b, raises))


divides, tries = above_two(raises=True), above_two(raises=False)
divides_alone, tries_alone = above_two(raises=True, alone=True), above_two(raises=False, alone=True)


def same_key(a: DraftStream, b: DraftStream) -> Expression:
    return equal(a["k"], b["k"])


def sum_below(a: DraftStream, b: DraftStream) -> Expression:
    return less(add(a["x"], a["k"]), b["x"])


def below(a: DraftStream, b: DraftStream) -> Expression:
    return less(a["x"], b["x"])


def present(a: DraftStream, b: DraftStream) -> Expression:
    return less(a["k"], constant(99, "bigint"))


def present_in_b(a: DraftStream, b: DraftStream) -> Expression:
    return less(b["k"], constant(99, "bigint"))


def soon(a: DraftStream, b: DraftStream) -> Expression:
    return less_or_equal(b["ts"], add(a["ts"], constant(3, "interval")))


def positive(a: DraftStream, b: DraftStream) -> Expression:
    return less(constant(0, "bigint"), b["x"])


def tolerant(a: DraftStream, b: DraftStream) -> Expression:
    return less(coalesce(a["x"], constant(0, "bigint")), b["x"])


def record(logical_plan: LogicalPlan) -> dict[str, Any]:
    return fingerprint(logical_plan, build_plan(logical_plan), pushdown=True)


def selecting(logical_plan: LogicalPlan, sql: str, **changes: Any) -> LogicalPlan:
    first, *rest = logical_plan.outputs
    return replace(logical_plan, outputs=(replace(first, sql=sql, **changes), *rest))


def narrow(logical_plan: LogicalPlan) -> LogicalPlan:
    """With only the first column selected, so that others are stored for predicates alone."""
    return replace(logical_plan, outputs=logical_plan.outputs[:1])


CORRECTIONS: dict[str, tuple[LogicalPlan, LogicalPlan]] = {
    "another predicate": (plan_of(divides), plan_of(tries)),
    "a guard": (plan_of(divides), plan_of(positive, divides)),
    "a condition on one stream that becomes a selection": (plan_of(divides_alone), plan_of(tries_alone)),
    "one beside a selection that stays": (plan_of(positive, divides), plan_of(positive, tries)),
    "one that becomes a key": (plan_of(equal_quotients(raises=True)), plan_of(equal_quotients(raises=False))),
    "one that bounds a range": (plan_of(sum_below), plan_of(below, present)),
    "a key that goes": (plan_of(same_key, divides), plan_of(below, present, present_in_b)),
    "a column that is read no longer": (plan_of(divides), plan_of(below, present_in_b)),
    "a key that stays": (plan_of(same_key, divides), plan_of(same_key, tries)),
    "an event time that is bounded more tightly": (plan_of(divides), plan_of(soon, divides)),
    "another expression of a selection": (plan_of(divides), selecting(plan_of(divides), "try_divide(a.x, b.k)")),
}


@pytest.mark.parametrize("case", CORRECTIONS)
def test_a_correction_takes_over_and_continues_with_the_same_plan(case: str) -> None:
    failed, corrected = CORRECTIONS[case]
    saved = record(failed)
    plan, written = continue_plan(saved, corrected, "here", True, False)
    assert written is not None
    for name, storage in written["storage"].items():
        assert set(storage["columns"]) <= set(saved["storage"][name]["columns"]), "rows are read without a column"
    again, unchanged = continue_plan(written, corrected, "here", False, False)
    assert unchanged is None
    assert again == plan, "a later restart plans otherwise, and would misread what is stored"


REFUSED: dict[str, tuple[LogicalPlan, LogicalPlan, str]] = {
    "nothing failed": (plan_of(divides), plan_of(below), "predicate"),
    "a selection that goes": (plan_of(positive, divides), plan_of(divides), "rows of b were left out unless"),
    "rows with NULLs that were left out": (
        plan_of(below),
        plan_of(tolerant),
        "rows of a were left out where a.x is NULL",
    ),
    "a column that is no longer read": (plan_of(divides), plan_of(below), "rows of b were left out where b.k is NULL"),
    "a column that was not stored": (narrow(plan_of(divides)), narrow(plan_of(divides, present)), "stored without a.k"),
    "rows that were dropped": (plan_of(soon, divides), plan_of(divides), "rows of a were kept for"),
    "another type": (plan_of(divides), selecting(plan_of(divides), "a.x", type_json='"string"'), "selection"),
    "another name": (plan_of(divides), selecting(plan_of(divides), "a.x", name="other"), "selection other: is new"),
    "another window": (plan_of(divides), plan_of(below, window_us=99), "window"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_stored_rows_cannot_serve_is_refused_by_name(case: str) -> None:
    failed, changed, fragment = REFUSED[case]
    with pytest.raises(RestartError) as caught:
        continue_plan(record(failed), changed, "here", case != "nothing failed", False)
    assert fragment in str(caught.value)


def test_what_earlier_queries_left_out_is_remembered() -> None:
    """A correction that rejects NULLs may be corrected again only to what the oldest rows can serve."""
    rejecting = plan_of(below)
    (conjunct,) = rejecting.conjuncts
    rejecting = replace(rejecting, conjuncts=(replace(conjunct, sql="abs(`a.x`) < `b.x`", expression=None),))
    _, second = continue_plan(record(plan_of(below)), rejecting, "here", True, False)
    assert second is not None
    assert "a.x" not in record(rejecting)["storage"]["a"]["left out if null"]
    with pytest.raises(RestartError, match=r"rows of a were left out where a\.x is NULL"):
        continue_plan(second, plan_of(tolerant), "here", True, False)


def test_accepting_a_changed_function_keeps_what_is_known_of_stored_rows() -> None:
    """An earlier correction left rows out: the record of the accepted function still says so."""

    def near(left: Any, right: Any) -> Any:
        return left <= right

    def nearer(left: Any, right: Any) -> Any:
        return left < right

    nearer.__name__ = "near"
    before, after = (_with_function(plan_of(divides), function) for function in (near, nearer))
    saved = record(before)
    saved["storage"]["a"]["left out if null"] = ["a.k", "a.x"]
    _, written = continue_plan(saved, after, "here", False, True)
    assert written is not None
    assert written["storage"] == saved["storage"]


def _with_function(logical_plan: LogicalPlan, function: Callable[..., Any]) -> LogicalPlan:
    a, b = (stream.columns[1] for stream in logical_plan.streams)
    predicate = PythonPredicate(function, (a.name, b.name), "near", None, None)
    conjunct = Conjunct("near", "near", (a, b), None, True, function=predicate)
    return replace(logical_plan, conjuncts=(*logical_plan.conjuncts, conjunct))
