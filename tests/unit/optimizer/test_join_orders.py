"""The order of lookups: what was seen of one counts only where it was seen."""

from __future__ import annotations

from dataclasses import replace

from braid.optimizer.build import build_plan
from braid.optimizer.join_orders import build_probe_orders, choose_join_orders
from braid.plan.join import JoinPlan, Stage
from braid.state.manifest import Fanout
from braid.testing import Draft
from braid.testing.expressions import constant, equal, within


def chain() -> JoinPlan:
    """a near b, b near c; nothing relates a and c."""
    draft = Draft()
    a, b, c = (draft.stream(name, {"x": "double"}, window_us=10) for name in "abc")
    draft.on(within(a["x"], b["x"], constant(1.0, "double")))
    draft.on(within(b["x"], c["x"], constant(1.0, "double")))
    return build_plan(draft.logical_plan())


def test_the_far_end_of_a_chain_is_not_looked_up_first_because_it_has_few_partners_after_the_middle() -> None:
    seen = (
        Fanout(0, 1, (0,), 1e6, 2e6, 0.0),
        Fanout(0, 2, (0, 1), 1e6, 1e3, 0.0),
        Fanout(2, 1, (2,), 1e6, 2e6, 0.0),
        Fanout(2, 0, (1, 2), 1e6, 1e3, 0.0),
    )
    assert choose_join_orders(chain(), ()) == choose_join_orders(chain(), seen) == ((1, 2), (0, 2), (1, 0))


def test_what_was_seen_decides_where_both_are_possible() -> None:
    draft = Draft()
    a, b, c = (draft.stream(name, {"k": "bigint", "l": "bigint"}, window_us=10) for name in "abc")
    draft.on(equal(a["k"], b["k"])).on(equal(a["l"], c["l"]))
    plan = build_plan(draft.logical_plan())
    assert choose_join_orders(plan, (Fanout(0, 1, (0,), 1e6, 5e6, 0.0), Fanout(0, 2, (0,), 1e6, 1e5, 0.0)))[0] == (2, 1)
    assert choose_join_orders(plan, (Fanout(0, 1, (0,), 1e6, 1e5, 0.0), Fanout(0, 2, (0,), 1e6, 5e6, 0.0)))[0] == (1, 2)


def with_functions(*kinds: str) -> JoinPlan:
    """Three streams, and conjuncts of a and b in the JVM: safe ones, ones that can raise, and registered functions."""
    draft = Draft()
    a, b, _ = (draft.stream(name, {"x": "bigint"}, window_us=10) for name in "abc")
    for _ in kinds:
        draft.on(equal(a["x"], b["x"]))
    logical_plan = draft.logical_plan()
    conjuncts = [
        replace(c, sql=f"{c.sql} {n}", expression=None, equality=None, raises=kind != "safe", registered=kind == "udf")
        for n, (c, kind) in enumerate(zip(logical_plan.conjuncts, kinds, strict=True))
    ]
    return build_plan(replace(logical_plan, conjuncts=tuple(conjuncts)))


def test_a_registered_function_waits_for_all_streams_and_has_a_stage_of_its_own() -> None:
    plan = with_functions("safe", "udf", "raising", "udf")
    for order in build_probe_orders(plan, ((1, 2), (0, 2), (0, 1))):
        first, last = order.probes
        early = [n for stage in first.later for n in stage.conjuncts]
        assert set(early) <= {0}
        expected = [Stage("jvm", (1, 2)), Stage("python", ()), Stage("jvm", (3,))]
        if 0 not in early:
            expected = [Stage("jvm", (0,)), Stage("python", ()), *expected]
        assert list(last.later) == expected
