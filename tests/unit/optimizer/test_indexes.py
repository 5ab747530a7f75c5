"""The numbers that an index may be sorted by, and what must be known before rows are left out because of one."""

from __future__ import annotations

from braid.optimizer.build import build_plan
from braid.optimizer.join_orders import build_probe
from braid.optimizer.paths import access_paths, sampled_expressions
from braid.plan.explain import render
from braid.plan.expressions import Call, Expression
from braid.plan.join import JoinPlan
from braid.testing import Draft, DraftStream
from braid.testing.expressions import constant, equal, less, within

COLUMNS = {"k": "int", "i": "int", "x": "double", "y": "double"}


def plan_of(*conjuncts: str, window_us: int | None = 10) -> JoinPlan:
    draft = Draft()
    a, b = (draft.stream(name, COLUMNS, window_us=window_us) for name in "ab")
    for text in conjuncts:
        draft.on(WRITTEN[text](a, b))
    return build_plan(draft.logical_plan())


def divided(a: DraftStream, b: DraftStream) -> Expression:
    return less(Call("divide", (a["x"], b["x"]), "double"), constant(2.0, "double"))


WRITTEN = {
    "same k": lambda a, b: equal(a["k"], b["k"]),
    "near k": lambda a, b: within(a["k"], b["k"], constant(3, "int")),
    "near i": lambda a, b: within(a["i"], b["i"], constant(3, "int")),
    "near x": lambda a, b: within(a["x"], b["x"], constant(3.0, "double")),
    "near y": lambda a, b: within(a["y"], b["y"], constant(3.0, "double")),
    "less y": lambda a, b: less(a["y"], b["y"]),
    "divided": divided,
}


def candidates(plan: JoinPlan) -> list[list[str]]:
    return [[render(number) for number in index.candidates] for index in plan.streams[0].indexes]


def test_every_bounded_number_is_a_candidate_and_bands_are_tried_first() -> None:
    assert candidates(plan_of("near x", "near y")) == [["a.x", "a.y", "a.ts"]]
    assert candidates(plan_of("less y", "near x")) == [["a.x", "a.y", "a.ts"]]
    assert candidates(plan_of("less y")) == [["a.ts", "a.y"]]
    assert candidates(plan_of("near x", "less y", window_us=None)) == [["a.x", "a.y"]]
    assert candidates(plan_of("same k", "near x")) == [["a.x", "a.ts"]]
    assert candidates(plan_of("same k")) == [["a.ts"]]


def test_a_number_is_no_candidate_where_an_error_that_comes_first_could_be_missed() -> None:
    assert candidates(plan_of("near x", "divided", "near i")) == [["a.x", "a.ts"]]
    assert candidates(plan_of("near x", "near i", "divided")) == [["a.x", "a.i", "a.ts"]]
    assert candidates(plan_of("near i", "near k")) == [["a.i", "a.k", "a.ts"]]


def test_comparisons_that_come_first_and_may_overflow_guard_a_range() -> None:
    plan = plan_of("near i", "near k", "near x")
    guarded = {render(index.range): index for index in plan.indexes(0, (1,)) if index.range is not None}
    assert list(guarded) == ["a.k"]
    assert [render(guard.number) for guard in build_probe(plan, (1,), 0, (1,)).guards] == ["a.i"]
    assert build_probe(plan, (1,), 0).guards == ()
    assert build_probe(plan, (1,), 0, (2,)).guards == ()


def test_the_choice_changes_what_is_searched_and_nothing_that_is_checked() -> None:
    plan = plan_of("near x", "near y")
    probes = [build_probe(plan, (1,), 0, (choice,)) for choice in range(3)]
    assert [render(probe.range) for probe in probes if probe.range is not None] == ["a.x", "a.y", "a.ts"]
    assert [probe.access for probe in probes] == ["band", "band", "time"]
    assert [len(probe.bounds) for probe in probes] == [2, 2, 0]
    assert len({(probe.index, probe.keys, probe.checks, probe.later) for probe in probes}) == 1


def test_nothing_is_sampled_where_there_is_no_choice() -> None:
    plan = plan_of("same k")
    assert access_paths(plan) == ()
    assert sampled_expressions(plan, 0) == ()
    ranged = plan_of("near x", "less y")
    assert [render(e) for e in sampled_expressions(ranged, 1)] == ["b.ts", "b.x", "b.y"]
