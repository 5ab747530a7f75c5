"""Which number rows are sorted by, and how they are cut by event time: from samples, without following their noise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest

from braid.control.paths import MIN_ROWS_PER_PIECE, PathDecision, RowSample, decide_paths, rows_to_sample
from braid.optimizer.build import build_plan
from braid.optimizer.paths import access_paths, sampled_expressions
from braid.plan.join import JoinPlan, SortOrder
from braid.plan.layout import Layout
from braid.state.observed.samples import PathShare
from braid.testing import Draft
from braid.testing.expressions import constant, equal, within

Columns = dict[str, npt.NDArray[np.float64]]
LAYOUT = Layout(0, "biclique", (2, 2), (1, 1))
UNDECIDED = (SortOrder(), SortOrder())
WINDOW_US = 5_000_000
X, Y, TIME = 0, 1, 2


def plan_of(keyed: bool = False, window_us: int | None = WINDOW_US) -> JoinPlan:
    draft = Draft()
    a, b = (draft.stream(name, {"k": "int", "x": "double", "y": "double"}, window_us=window_us) for name in "ab")
    if keyed:
        draft.on(equal(a["k"], b["k"]))
    draft.on(within(a["x"], b["x"], constant(1.0, "double")))
    return build_plan(draft.on(within(a["y"], b["y"], constant(1.0, "double"))).logical_plan())


def rows(count: int, *, span_s: float = 300.0, x: float, y: float, seed: int = 1) -> Columns:
    """Evenly spread over a span of event time and ranges of x and y."""
    chance = np.random.default_rng(seed)
    return {"ts": chance.random(count) * span_s * 1e6, "x": chance.random(count) * x, "y": chance.random(count) * y}


def sample(plan: JoinPlan, stream: int, columns: Columns, of: int = 256) -> RowSample:
    places = np.linspace(0, len(columns["ts"]) - 1, min(of, len(columns["ts"]))).astype(int)
    names = [getattr(expression, "name", "") for expression in sampled_expressions(plan, stream)]
    values = [columns[name.partition(".")[2]][places] for name in names]
    return RowSample(len(columns["ts"]), tuple(tuple(column.tolist()) for column in values))


def decide(
    plan: JoinPlan,
    streams: Sequence[Columns | None],
    before: tuple[SortOrder, ...] = UNDECIDED,
    known: tuple[PathShare, ...] = (),
    layout: Layout = LAYOUT,
) -> PathDecision:
    samples = [[] if c is None else [sample(plan, number, c)] for number, c in enumerate(streams)]
    expressions = [sampled_expressions(plan, stream.number) for stream in plan.streams]
    return decide_paths(plan, access_paths(plan), expressions, layout, before, known, samples)


def share(decision: PathDecision, choice: int, stream: int = 0) -> float:
    return next(s.share for s in decision.shares if (s.stream, s.choice) == (stream, choice))


def test_rows_are_sorted_by_the_number_with_the_fewest_candidates() -> None:
    plan = plan_of()
    for x, y, chosen in ((200.0, 4.0, ()), (4.0, 200.0, (Y,))):
        columns = [rows(40_000, x=x, y=y, seed=seed) for seed in (1, 2)]
        decision = decide(plan, columns)
        assert [order.choices for order in decision.sort_orders] == [chosen, chosen]
        assert len(decision.adaptations) == (2 if chosen else 0)
    assert decision.adaptations[0].startswith("sorts a by a.y instead of a.x: 0.")


def test_time_is_chosen_where_no_band_leaves_out_more() -> None:
    """With few rows a unit there are no sub-indexes, and only one of window and band leaves rows out."""
    plan = plan_of()
    columns = [rows(200, x=4.0, y=4.0, seed=seed) for seed in (1, 2)]
    decision = decide(plan, columns)
    assert [order.choices for order in decision.sort_orders] == [(TIME,), (TIME,)]
    short = [rows(200, x=4.0, y=4.0, span_s=5.0, seed=seed) for seed in (1, 2)]
    assert decide(plan, short).sort_orders == UNDECIDED


@pytest.mark.parametrize("seed", range(5))
def test_estimates_are_near_the_true_shares(seed: int) -> None:
    plan = plan_of()
    columns = [rows(2_000, x=50.0, y=8.0, span_s=60.0, seed=10 * seed + n) for n in (1, 2)]
    decision = decide(plan, columns)
    a, b = columns
    cut = decision.sort_orders[0].cut_us
    near = np.abs(a["ts"][:, None] - b["ts"][None, :]) <= WINDOW_US + (0 if cut is None else cut / 2)
    close = [np.abs(a[name][:, None] - b[name][None, :]) <= 1.0 for name in ("x", "y")]
    true = [float((mask & near if cut is not None else mask).mean()) for mask in close]
    assert share(decision, X) == pytest.approx(true[0], rel=0.4)
    assert share(decision, TIME) == pytest.approx(
        float(np.mean(np.abs(a["ts"][:, None] - b["ts"]) <= WINDOW_US)), rel=0.3
    )
    assert share(decision, X) < share(decision, Y)


def test_small_gains_change_nothing() -> None:
    plan = plan_of()
    columns = [rows(40_000, x=20.0, y=24.0, seed=seed) for seed in (1, 2)]
    decision = decide(plan, columns)
    assert share(decision, Y) < share(decision, X)
    assert [order.choices for order in decision.sort_orders] == [(), ()]
    columns = [rows(40_000, x=24.0, y=20.0, seed=seed) for seed in (1, 2)]
    by_y = (SortOrder((Y,)), SortOrder((Y,)))
    assert [order.choices for order in decide(plan, columns, by_y).sort_orders] == [(Y,), (Y,)]


def test_one_step_that_differs_does_not_change_an_order_but_several_do() -> None:
    plan = plan_of()
    usual = [rows(40_000, x=200.0, y=60.0, seed=seed) for seed in (1, 2)]
    other = [rows(40_000, x=60.0, y=200.0, seed=seed) for seed in (3, 4)]
    decision = decide(plan, usual)
    changed = []
    for _ in range(4):
        decision = decide(plan, other, decision.sort_orders, decision.shares)
        changed.append(decision.sort_orders[0].choices)
    assert changed[0] == ()
    assert changed[-1] == (Y,)


def test_a_step_without_rows_of_both_streams_keeps_the_order() -> None:
    plan = plan_of()
    first = decide(plan, [rows(40_000, x=4.0, y=200.0, seed=seed) for seed in (1, 2)])
    alone = decide(plan, [rows(40_000, x=200.0, y=4.0), None], first.sort_orders, first.shares)
    assert [order.choices for order in alone.sort_orders] == [(Y,), (Y,)]
    assert alone.shares == first.shares
    assert alone.sort_orders[1] == first.sort_orders[1]


def test_few_rows_decide_nothing() -> None:
    decision = decide(plan_of(), [rows(20, x=1.0, y=500.0, seed=seed) for seed in (1, 2)])
    assert decision.sort_orders == UNDECIDED
    assert decision.shares == ()


def test_long_steps_are_cut_and_short_ones_are_not() -> None:
    plan = plan_of()
    long = decide(plan, [rows(40_000, x=200.0, y=4.0, seed=seed) for seed in (1, 2)]).sort_orders[0].cut_us
    assert long is not None
    assert 300e6 / (20_000 / MIN_ROWS_PER_PIECE) < long < 60e6
    for short in (rows(40_000, x=200.0, y=4.0, span_s=10.0), rows(400, x=200.0, y=4.0)):
        assert decide(plan, [short, short]).sort_orders[0].cut_us is None
    unbounded = plan_of(window_us=None)
    assert decide(unbounded, [rows(40_000, x=200.0, y=4.0)] * 2).sort_orders[0].cut_us is None
    assert decide(plan_of(keyed=True), [rows(40_000, x=200.0, y=4.0)] * 2).sort_orders[0].cut_us is None


def test_a_few_rows_far_away_do_not_change_the_cut() -> None:
    plan = plan_of()
    usual = [rows(40_000, x=200.0, y=4.0, seed=seed) for seed in (1, 2)]
    far = [dict(columns, ts=np.where(np.arange(40_000) == 0, -1e15, columns["ts"])) for columns in usual]
    cuts = [decide(plan, columns).sort_orders[0].cut_us for columns in (usual, far)]
    assert cuts[0] is not None
    assert cuts[1] is not None
    assert cuts[1] == pytest.approx(cuts[0], rel=0.2)


def test_tasks_count_by_their_rows() -> None:
    """A task with a hundredth of the rows samples as many, but has a hundredth of the weight."""
    plan = plan_of()
    many, few = rows(40_000, x=200.0, y=4.0), rows(400, x=1.0, y=1000.0)
    expressions = [sampled_expressions(plan, stream) for stream in (0, 1)]
    samples = [[sample(plan, stream, many), sample(plan, stream, few)] for stream in (0, 1)]
    decision = decide_paths(plan, access_paths(plan), expressions, LAYOUT, UNDECIDED, (), samples)
    assert decision.sort_orders[0].choices == ()


def test_tasks_sample_less_the_more_there_are() -> None:
    assert [rows_to_sample(tasks) for tasks in (1, 2, 16, 1000)] == [256, 128, 16, 8]
