"""What sequences and trees are expected to cost, against numbers worked out by hand."""

from __future__ import annotations

from braid.optimizer.build import build_plan
from braid.optimizer.shapes import ShapeCost, describe_shapes, sequences_cost, tree_cost
from braid.optimizer.trees import in_shape
from braid.plan.join import JoinPlan
from braid.state.manifest import Fanout
from braid.testing import Draft
from braid.testing.expressions import constant, equal, within


def chain() -> JoinPlan:
    """a near b (10 matches are expected), b.k = c.k (1 match)."""
    draft = Draft()
    a, b, c = (draft.stream(name, {"x": "double", "k": "bigint"}, window_us=10) for name in "abc")
    draft.on(within(a["x"], b["x"], constant(1.0, "double"))).on(equal(b["k"], c["k"]))
    return build_plan(draft.logical_plan())


def test_sequences() -> None:
    """a: 1 + 10 lookups find 10 + 10; b: c, then a, and c: b, then a, each 1 + 1 lookups that find 1 + 10."""
    assert sequences_cost(chain()) == ShapeCost(lookups=15 / 3, matches=42 / 3, stored=1.0)


def test_a_tree() -> None:
    """a: one lookup finds 10. b and c: 1 + 1 lookups find 1 + 10, and the 1 is stored."""
    assert tree_cost(in_shape(chain(), (0, 1, 2))) == ShapeCost(lookups=5 / 3, matches=32 / 3, stored=5 / 3)


def test_another_order_of_the_tree_stores_more() -> None:
    """c outside: c finds 1 * 10 at once; a: b (10, stored), then c for each; b: a (10, stored), then c for each."""
    cost = tree_cost(in_shape(chain(), (2, 0, 1)))
    assert cost == ShapeCost(lookups=(1 + 11 + 11) / 3, matches=(10 + 20 + 20) / 3, stored=(1 + 11 + 11) / 3)


def test_what_was_seen_counts_first() -> None:
    """a finds 2 in the stored pairs; c finds 0.5 in b, and of those 4 in a each."""
    seen = (Fanout(0, 3, (0,), 1e6, 2e6, 0.0), Fanout(2, 1, (2,), 1e4, 5e3, 0.0), Fanout(2, 0, (1, 2), 1e4, 4e4, 0.0))
    cost = tree_cost(in_shape(chain(), (0, 1, 2)), seen)
    assert cost == ShapeCost(lookups=(1 + 2 + 1.5) / 3, matches=(2 + 11 + 2.5) / 3, stored=(1 + 2 + 1.5) / 3)


def test_an_intermediate_result_not_yet_looked_up_is_guessed_from_its_members() -> None:
    """By sequences a was seen to find 3 of b, and after it 2 of c."""
    seen = (Fanout(0, 1, (0,), 1e6, 3e6, 0.0), Fanout(0, 2, (0, 1), 1e6, 2e6, 0.0))
    cost = tree_cost(in_shape(chain(), (0, 1, 2)), seen)
    assert cost == ShapeCost(lookups=5 / 3, matches=(6 + 22) / 3, stored=5 / 3)


def test_both_are_described_for_three_streams_and_more() -> None:
    assert describe_shapes(chain(), None) == (
        "expected for a row of input, if every stream brings as many:",
        "  sequences: lookups 5, matches 14, rows stored 1",
        "  tree a ⋈ (b ⋈ c): lookups 1.667, matches 10.67, rows stored 1.667",
    )
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "ab")
    assert describe_shapes(build_plan(draft.on(equal(a["k"], b["k"])).logical_plan()), None) == ()
