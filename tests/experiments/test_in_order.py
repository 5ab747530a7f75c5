"""The experiments of in-order execution: equations and model by hand, every counted claim, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from braid.control.ordering import Ordering
from experiments import in_order
from experiments.experiment import Experiment, plain
from experiments.in_order import equations, timed
from experiments.in_order.arrivals import FAST, SLOW, Arrivals, periodic
from experiments.in_order.equations import Setting
from experiments.in_order.replay import ALPHA, FILE_SECONDS, Pacing, Replay, Step, responses
from experiments.in_order.rows import prepare
from experiments.in_order.server import serve
from experiments.outcome import Outcome

# λ1 = 1, λ2 = 10, |w| = 60 s, c = 0.5 ms: n = 10, C_S = 30 ms, c·|w|·λ1·λ2 = 0.3.
SETTING = Setting(slow=1.0, fast=10.0, cost=0.0005, window=60.0)

COUNTED = [experiment for experiment in in_order.EXPERIMENTS if not experiment.timed]
NOT_HERE = {"costs": ["the gain of Filter-Order grows with c, one server for both streams"]}


def test_the_equations_by_hand() -> None:
    assert SETTING.rows_a_turn == 10
    assert SETTING.lookup == pytest.approx(0.03)
    assert SETTING.share == pytest.approx(0.3)
    assert equations.total_filter_order(SETTING) == pytest.approx(10 - 90 / 20)
    assert equations.total_sync_filter(SETTING) == pytest.approx(5.5 + 55 * 0.03)
    assert equations.mean_filter_order(SETTING) == pytest.approx(0.55)
    assert equations.mean_sync_filter(SETTING) == pytest.approx(0.55 + 0.165)
    assert equations.gain(SETTING) == pytest.approx(0.165 / 0.715)
    assert equations.gain_of_share(0.3) == pytest.approx(0.3 / 1.3)
    assert equations.gain(SETTING) == pytest.approx(equations.gain_of_share(SETTING.share))
    assert equations.LARGEST_GAIN == 0.5


def test_the_system_keeps_up_below_a_cost() -> None:
    assert equations.keeps_up(Setting(1.0, 10.0, 0.00166, 60.0))
    assert not equations.keeps_up(Setting(1.0, 10.0, 0.00167, 60.0))


@pytest.fixture
def few() -> Arrivals:
    """Rows of the slower stream at 0 and 10 s, of the faster one at 1, 2 and 3."""
    times = np.array([0.0, 1.0, 2.0, 3.0, 10.0])
    return Arrivals(times, np.array([SLOW, FAST, FAST, FAST, SLOW], np.int8))


def test_rows_are_compared_with_earlier_rows_of_the_other_stream(few: Arrivals) -> None:
    rows = prepare(few, window=8.5, cost=0.5)
    assert rows.compared.tolist() == [0, 1, 1, 1, 2]
    assert rows.seconds.tolist() == [0, 0.5, 0.5, 0.5, 1.0]
    assert rows.reached.tolist() == [1, 10, 10, 10, float("inf")]


def test_sync_filter_looks_rows_up_when_the_other_stream_has_come_as_far(few: Arrivals) -> None:
    served = serve(prepare(few, window=8.5, cost=0.5), Ordering("sync-filter", 0.3))
    assert served.began[:4].tolist() == [1, 10, 10.5, 11]
    assert served.left[:4].tolist() == [1, 10.5, 11, 11.5]
    assert served.response(0, (FAST,)) == pytest.approx((9.5 + 9 + 8.5) / 3)


def test_filter_order_looks_rows_up_at_once_and_emits_them_in_time(few: Arrivals) -> None:
    served = serve(prepare(few, window=8.5, cost=0.5), Ordering("filter-order", 0.3))
    assert served.done.tolist() == [0, 1.5, 2.5, 3.5, 11]
    assert served.left[:4].tolist() == [1, 10, 10, 10]


def test_streams_with_servers_of_their_own_do_not_delay_each_other() -> None:
    rows = prepare(periodic(1.0, 10.0, 200.0), 60.0, 0.0015)
    shared, apart = (serve(rows, Ordering("filter-order", 0.3), servers) for servers in ("shared", "apart"))
    assert apart.response(61, (FAST,)) == pytest.approx(0.55, abs=0.001)
    assert shared.response(61, (FAST,)) > 1


@pytest.mark.parametrize(("share", "buffered"), [(0.2, "rows"), (0.4, "results")])
def test_adaptive_becomes_what_its_inequality_selects(share: float, buffered: str) -> None:
    setting = Setting(0.1, 10.0, share / 60, 60.0)
    rows = prepare(periodic(setting.slow, setting.fast, 600.0), setting.window, setting.cost)
    served = serve(rows, Ordering("adaptive", 0.3))
    assert (served.switches[-1].holds if served.switches else "rows") == buffered
    assert len(served.switches) == (buffered == "results")
    same = serve(rows, Ordering("filter-order" if buffered == "results" else "sync-filter", 0.3))
    assert served.response(300) == pytest.approx(same.response(300), rel=0.01)


@pytest.mark.parametrize("experiment", COUNTED, ids=lambda experiment: experiment.name)
def test_the_counted_claims_hold(experiment: Experiment) -> None:
    judged = experiment.judged(plain(experiment.measure(in_order.SIZES["quick"])))
    assert judged
    assert [one.claim.text for one in judged if one.verdict.holds is False] == NOT_HERE.get(experiment.name, [])


def step(ended: float, frontier: float, share: float, holds: str = "rows", said: tuple[str, ...] = ()) -> Step:
    waited = {"rows": 100, "averageMs": 1500.0, "p50Ms": 1400.0, "p99Ms": 2000.0}
    order = {"rowResponse": waited, "lookupDelay": share, "modelledDelay": share, "holds": holds}
    return Step(ended - 0.5, ended, frontier, said, order)


def test_a_response_lasts_from_when_a_file_is_due_to_the_end_of_its_rows_step() -> None:
    steps = [step(2.5, 1.0, 0.1), step(4.0, 2.0, 0.1)]
    found = responses(steps, turn=1.0, pacing=Pacing(seconds=2.0, warm_up=1.0))
    rows = len(found) // 2
    assert found == pytest.approx([4.0 - (1 + FILE_SECONDS)] * rows + [4.0 - 2.0] * rows)


class Scripted:
    """Instead of Spark: lookups take 100 times the cost, and delay Sync-Filter's rows, and Adaptive's if it errs."""

    def __init__(self, adaptive_holds: str) -> None:
        self._adaptive_holds = adaptive_holds

    def run(self, replay: Replay, pacing: Pacing) -> list[Step]:
        share = 100 * replay.cost * 4 / replay.turn
        right = "results" if share >= ALPHA else "rows"
        holds = {"sync-filter": "rows", "filter-order": "results", "adaptive": self._adaptive_holds or right}
        late = 1 + (share if holds[replay.policy] == "rows" else 0)
        turns = np.arange(1, pacing.seconds / replay.turn + 1) * replay.turn
        return [step(turn + late, turn, share, holds[replay.policy]) for turn in turns]


@pytest.mark.parametrize(("holds", "verdict"), [("", True), ("rows", False)])
def test_adaptive_is_compared_with_what_its_share_selects(
    monkeypatch: pytest.MonkeyPatch, holds: str, verdict: bool
) -> None:
    @contextmanager
    def scripted() -> Iterator[Scripted]:
        yield Scripted(holds)

    monkeypatch.setattr(timed, "open_replayer", scripted)
    for experiment in (timed.timed_costs, timed.timed_rates):
        outcome = experiment(in_order.SIZES["quick"])
        assert Outcome.from_json(outcome.to_json()) == outcome
        by_claim = {claim.claim: claim.holds for claim in outcome.claims}
        assert [true for text, true in by_claim.items() if "grows" in text] == [True]
        followed = [true for text, true in by_claim.items() if "follows" in text]
        assert followed[0] is True
        assert followed[-1] is verdict
