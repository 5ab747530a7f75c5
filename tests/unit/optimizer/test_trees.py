"""Trees: their order, who looks what up, who sees which step, and how long intermediate rows are kept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from braid.control.layouts import next_layout
from braid.control.merging import archive_periods, oldest_useful
from braid.control.watermarks import is_expired
from braid.errors import StrategyError
from braid.kernels.rows import Rows
from braid.kernels.times import row_times
from braid.optimizer.build import build_plan
from braid.optimizer.join_orders import build_probe_orders
from braid.optimizer.strategies import Biclique
from braid.optimizer.trees import choose_tree, derivation, in_shape, rebuild_orders, tree_orders
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.typed_json import from_json
from braid.state.manifest import Manifest, Mark
from braid.testing import Draft
from braid.testing.expressions import constant, equal, less_or_equal, subtract, within

CHAIN_TREE = (0, 1, 2)
INTERMEDIATE = 3


def chain(*windows_us: int | None) -> JoinPlan:
    """a near b, b.k = c.k."""
    draft = Draft()
    columns = {"x": "double", "k": "bigint"}
    a, b, c = (draft.stream(name, columns, window_us=us) for name, us in zip("abc", windows_us, strict=True))
    draft.on(within(a["x"], b["x"], constant(1.0, "double"))).on(equal(b["k"], c["k"]))
    return build_plan(draft.logical_plan())


def star() -> JoinPlan:
    draft = Draft()
    streams = [draft.stream(name, {"k": "bigint"}, window_us=10) for name in "abcd"]
    for other in streams[1:]:
        draft.on(equal(streams[0]["k"], other["k"]))
    return build_plan(draft.logical_plan())


def times(**columns: int) -> Rows:
    arrays = {f"{name}.ts": pa.array([time], pa.timestamp("us", "UTC")) for name, time in columns.items()}
    return Rows(arrays, dict.fromkeys(arrays, "timestamp"), 1)


def test_the_cheapest_pair_is_innermost() -> None:
    assert choose_tree(chain(10, 10, 10)) == CHAIN_TREE
    draft = Draft()
    a, b, c = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "abc")
    draft.on(equal(a["k"], c["k"])).on(less_or_equal(b["k"], c["k"]))
    assert choose_tree(build_plan(draft.logical_plan())) == (1, 0, 2)


def test_two_streams_have_no_tree() -> None:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "bigint"}, window_us=10) for name in "ab")
    plan = build_plan(draft.on(equal(a["k"], b["k"])).logical_plan())
    assert choose_tree(plan) is None
    assert Biclique(2, shape="tree").layout(plan, 2) == Biclique(2).layout(plan, 2)


def test_a_delta_stream_looks_up_what_is_below_it_at_once_and_then_the_streams_above() -> None:
    assert tree_orders(in_shape(chain(10, 10, 10), CHAIN_TREE)) == ((INTERMEDIATE,), (2, 0), (1, 0))
    plan = in_shape(star(), (2, 0, 3, 1))
    assert [one.members for one in plan.intermediate] == [(0, 3, 1), (3, 1)]
    assert tree_orders(plan) == ((5, 2), (3, 0, 2), (4,), (1, 0, 2))
    assert rebuild_orders(plan) == ((), (3, 0), (), ())


def test_all_sequences_end_in_the_same_round() -> None:
    plan = in_shape(star(), (0, 1, 2, 3))
    sequences = build_probe_orders(plan, tree_orders(plan))
    assert [sequence.start for sequence in sequences] == [2, 1, 0, 0]
    assert all(len(sequence.joined[-1]) == 4 for sequence in sequences)
    assert sequences[1].probe_in(0) is None
    assert sequences[2].after(0) == (2, 3)


def test_a_delta_stream_sees_its_own_step_of_the_streams_above_it_only() -> None:
    plan = in_shape(star(), (2, 0, 3, 1))
    above = [[other for other in range(6) if plan.comes_before(other, delta_stream)] for delta_stream in range(4)]
    assert above == [[2], [0, 2, 3], [], [0, 2]]


def test_a_conjunct_inside_an_intermediate_result_is_not_decided_again() -> None:
    """b.k = c.k is an exact key, so that only a's band is left for a's lookup."""
    plan = in_shape(chain(10, 10, 10), CHAIN_TREE)
    first = build_probe_orders(plan, tree_orders(plan))[0]
    assert [(probe.access, probe.checks) for probe in first.probes] == [("band", (0,))]


def test_an_intermediate_row_lives_as_long_as_the_member_that_ends_first() -> None:
    """b's row at 100 may join a's until 120, c's row at 112 until 117: the pair ends at 117."""
    plan = in_shape(chain(50, 20, 5), CHAIN_TREE)
    assert plan.reaches(INTERMEDIATE) == ((0, 20),)
    assert row_times(plan, INTERMEDIATE, times(b=100, c=112)).tolist() == [117 - 20]
    assert row_times(plan, INTERMEDIATE, times(b=100, c=118)).tolist() == [120 - 20]
    assert not is_expired(plan, INTERMEDIATE, 97, (117, 0, 0))
    assert is_expired(plan, INTERMEDIATE, 97, (118, 0, 0))
    assert not is_expired(plan, INTERMEDIATE, 97, (None, 999, 999))
    assert oldest_useful(plan, INTERMEDIATE, (117, None, None)) == 97
    assert archive_periods(plan) == (5, 2, 1, 2)


def test_a_member_that_is_kept_forever_does_not_end_an_intermediate_row() -> None:
    plan = in_shape(chain(50, None, 5), CHAIN_TREE)
    assert row_times(plan, INTERMEDIATE, times(b=-1000, c=112)).tolist() == [112]
    assert plan.reaches(INTERMEDIATE) == ((0, 5),)
    unbounded = in_shape(chain(50, None, None), CHAIN_TREE)
    assert unbounded.reaches(INTERMEDIATE) == ((0, None),)
    assert not is_expired(unbounded, INTERMEDIATE, 0, (10**9, 10**9, 10**9))


def test_bounds_of_event_times_end_an_intermediate_row_before_its_window() -> None:
    draft = Draft()
    a, b, c = (draft.stream(name, {"k": "bigint"}, window_us=100) for name in "abc")
    draft.on(equal(b["k"], c["k"])).on(less_or_equal(subtract(a["ts"], constant(7, "interval")), b["ts"]))
    plan = in_shape(build_plan(draft.logical_plan()), CHAIN_TREE)
    assert row_times(plan, INTERMEDIATE, times(b=100, c=150)).tolist() == [107 - 100]
    assert is_expired(plan, INTERMEDIATE, 7, (108, 0, 0))


def test_times_never_lie_after_those_of_bounded_members() -> None:
    random_ = np.random.default_rng(3)
    for _ in range(50):
        plan = in_shape(chain(*(int(us) for us in random_.integers(0, 30, 3))), CHAIN_TREE)
        b, c = (int(time) for time in random_.integers(0, 100, 2))
        assert row_times(plan, INTERMEDIATE, times(b=b, c=c))[0] <= min(b, c)


def test_what_is_stored_belongs_to_its_tree_and_predicates() -> None:
    plan = chain(10, 10, 10)
    assert derivation(plan) is None
    made = {derivation(in_shape(plan, tree)) for tree in (CHAIN_TREE, (0, 2, 1), (2, 0, 1))}
    other = replace(plan, conjuncts=(replace(plan.conjuncts[0], sql="something else"), plan.conjuncts[1]))
    assert len(made | {derivation(in_shape(other, CHAIN_TREE))}) == 4
    assert derivation(in_shape(chain(10, 10, 10), CHAIN_TREE)) in made


def test_a_recorded_tree_stays() -> None:
    plan = chain(10, 10, 10)
    recorded = Layout(4, "biclique", (2, 2, 2), (1, 1, 1), tree=(2, 1, 0))
    manifest = Manifest(0, 0, "run", 0, (Mark(None, None, 0),) * 3, (recorded,), (), 0)
    chosen = Biclique(2, shape="tree").layout(plan, 2)
    assert chosen.tree == CHAIN_TREE
    assert next_layout(plan, manifest, chosen, None, 0).layout == recorded
    assert next_layout(plan, manifest, Biclique(2).layout(plan, 2), None, 0).layout == replace(
        recorded, epoch=5, tree=None
    )


def test_layouts_come_back_from_records() -> None:
    layout = Layout(4, "biclique", (2, 2, 2), (1, 1, 1), tree=(2, 1, 0))
    content = {"epoch": 4, "kind": "biclique", "units": [2, 2, 2], "groups": [1, 1, 1], "archive_us": None}
    assert from_json(Layout, {**content, "sizes": None, "tree": [2, 1, 0]}) == layout
    assert from_json(Layout, {**content, "sizes": None}).tree is None


def test_an_unknown_shape_is_refused() -> None:
    with pytest.raises(StrategyError, match="'sequences' or 'tree', not 'bush'"):
        Biclique(shape="bush")
    assert Biclique(2, shape="tree").describe() == "Biclique(units=2, shape='tree')"
