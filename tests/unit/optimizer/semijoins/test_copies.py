"""Which copies sequences need, what they share, and what decides a semijoin."""

from __future__ import annotations

import pytest

from braid.errors import StrategyError
from braid.optimizer.build import build_plan
from braid.optimizer.semijoins.copies import continued_copies, copies_of, with_shared_copies
from braid.optimizer.semijoins.reduction import reduction_of
from braid.plan.expressions import Call, Constant
from braid.plan.join import JoinPlan
from braid.plan.sites import Algorithm, Copy, Partial, SiteSequence, SiteStep
from braid.testing import Draft
from braid.testing.expressions import equal

HOMES = (0, 1, 0)


def keyed_plan() -> JoinPlan:
    """Three streams with a common key; the first and the third are at one site."""
    draft = Draft()
    a, b, c = (draft.stream(name, {"k": "bigint", "x": "double"}, window_us=10) for name in "abc")
    return build_plan(draft.on(equal(a["k"], b["k"])).on(equal(b["k"], c["k"])).logical_plan())


def compared_plan(*, raising: bool = False) -> JoinPlan:
    """Two streams with x between, which cannot raise, or i + 1 <=, which can."""
    draft = Draft()
    a, b = (draft.stream(name, {"x": "double", "i": "int"}, window_us=10) for name in "ab")
    if raising:
        more = Call("add", (a["i"], Constant(1, "int")), "int")
        return build_plan(draft.on(Call("le", (more, b["i"]), "boolean")).logical_plan())
    return build_plan(draft.on(Call("le", (a["x"], b["x"]), "boolean")).logical_plan())


def sequences(*names: str) -> tuple[SiteSequence, ...]:
    """One sequence for each of three streams: the others in their order, by the given algorithms."""
    found = []
    for head in range(3):
        others = [stream for stream in range(3) if stream != head]
        own = names[2 * head : 2 * head + 2]
        found.append(SiteSequence(tuple(SiteStep(s, Algorithm(n)) for s, n in zip(others, own, strict=True))))
    return tuple(found)


def algorithms(found: tuple[SiteSequence, ...]) -> list[str]:
    return [step.algorithm.value for sequence in found for step in sequence.steps]


def test_equal_lookups_from_one_site_share_a_copy() -> None:
    """Streams a and c are at one site, and both request rows of b there."""
    plan = keyed_plan()
    found = copies_of(plan, HOMES, sequences("SM-S1", "SP-D", "SP-D", "SP-D", "SP-D", "SM-S1"), 5)
    assert [(copy.stream, copy.site, copy.kind, copy.since) for copy in found] == [(1, 0, "requested", 5)]


@pytest.mark.parametrize(
    ("of_a", "of_c", "used", "kinds"),
    [
        ("SM-S1", "SP-S", ["SP-S", "SP-S"], ["rows"]),
        ("SM-S2", "SP-S", ["SP-S", "SP-S"], ["rows"]),
        ("SM-S1", "SM-S2", ["SM-S2", "SM-S2"], ["mixed"]),
        ("SM-S1", "SM-D1", ["SM-S2", "SM-D1"], ["mixed"]),
        ("SM-D1", "SP-S", ["SM-D1", "SP-S"], ["rows", "values"]),
        ("SM-D2", "SP-D", ["SM-D2", "SP-D"], []),
    ],
)
def test_a_copy_that_holds_more_serves_both(of_a: str, of_c: str, used: list[str], kinds: list[str]) -> None:
    plan = keyed_plan()
    # At the second position of c the joined rows are still at its site.
    given = sequences(of_a, "SP-D", "SP-D", "SP-D", "SP-S", of_c)
    found = with_shared_copies(plan, HOMES, given)
    assert [algorithms(found)[0], algorithms(found)[5]] == used
    assert sorted(copy.kind for copy in copies_of(plan, HOMES, found, 0)) == kinds


def test_copies_go_on_as_long_as_they_hold_the_same() -> None:
    before = (Copy(1, 0, "rows", None, 2), Copy(0, 1, "values", Partial(0), 3))
    needed = (Copy(0, 1, "mixed", Partial(0), 9), Copy(1, 0, "rows", None, 9))
    assert continued_copies(before, needed) == (needed[0], before[0])


def test_keys_decide_by_themselves_and_comparisons_by_their_columns() -> None:
    by_key = reduction_of(keyed_plan(), (0,), 1)
    assert by_key is not None
    assert (by_key.by_key, by_key.stored.columns, by_key.stored.width, by_key.probe.checks) == (True, (), 1, ())
    compared = reduction_of(compared_plan(), (0,), 1)
    assert compared is not None
    assert (compared.by_key, compared.probing, compared.stored.columns) == (False, ("a.x",), ("b.x",))
    assert compared.probe.checks == (0,)


def test_a_comparison_that_may_raise_decides_no_semijoin() -> None:
    """It may only see pairs in the window, and partial tuples have no times."""
    plan = compared_plan(raising=True)
    assert reduction_of(plan, (0,), 1) is None
    steps = (SiteSequence((SiteStep(1, Algorithm.SM_D1),)), SiteSequence((SiteStep(0, Algorithm.SP_D),)))
    with pytest.raises(StrategyError, match="SM-D1 cannot look up b for rows of a") as caught:
        copies_of(plan, (0, 1), steps, 0)
    assert "Use SP-S or SP-D there" in str(caught.value)
