"""The experiments of in-order execution: equations, the model and what replays report, by hand."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from braid.control.ordering import Ordering
from experiments.in_order import equations, timed
from experiments.in_order.arrivals import FAST, SLOW, Arrivals, periodic
from experiments.in_order.equations import Setting
from experiments.in_order.replay import FILE_SECONDS, FIRST, Pacing, Replay, Step, last_turn, responses, write_files
from experiments.in_order.rows import prepare
from experiments.in_order.server import serve

# λ1 = 1, λ2 = 10, |w| = 60 s, c = 0.5 ms: n = 10, C_S = 30 ms, c·|w|·λ1·λ2 = 0.3.
SETTING = Setting(slow=1.0, fast=10.0, cost=0.0005, window=60.0)


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


def step(ended: float, frontier: float, delay: float, holds: str = "rows", said: tuple[str, ...] = ()) -> Step:
    waited = {"rows": 100, "averageMs": 1500.0, "p50Ms": 1400.0, "p99Ms": 2000.0}
    order = {"rowResponse": waited, "lookupDelay": delay, "modelledDelay": delay, "holds": holds}
    return Step(ended - 0.5, ended, frontier, said, order, {"rows": {"fast": 10}, "results": 3, "bytes": 70}, 24.0)


def test_a_response_lasts_from_when_a_file_is_due_to_the_end_of_its_rows_step() -> None:
    steps = [step(2.5, 1.0, 0.1), step(4.0, 2.0, 0.1)]
    found = responses(steps, turn=1.0, pacing=Pacing(seconds=2.0, warm_up=1.0))
    rows = len(found) // 2
    assert found == pytest.approx([4.0 - (1 + FILE_SECONDS)] * rows + [4.0 - 2.0] * rows)


@pytest.mark.parametrize("turn", [1.0, 1.6, 2.0, 4.0])
@pytest.mark.parametrize("seconds", [8.0, 28.0])
def test_the_time_that_a_replay_waits_for_is_that_of_a_row(turn: float, seconds: float, tmp_path: Path) -> None:
    """A turn of 1.6 s seventeen times is a little more than 27.2 s in floating point."""
    files = [path for _, path in write_files(tmp_path, turn, seconds) if path.parent.name == "slow"]
    last = pq.read_table(files[-1])["ts"][-1].as_py()
    assert (last - FIRST).total_seconds() == last_turn(turn, seconds)


def test_what_waits_is_weighed_by_the_time_until_the_next_step_ends() -> None:
    quiet = {"rows": {"slow": 0, "fast": 40}, "results": 0, "bytes": 0}
    steps = [step(2.0, 1.0, 0.1), replace(step(3.0, 2.0, 0.1), buffered=quiet), step(6.0, 3.0, 0.1)]
    found = timed.summed_up([steps], turn=1.0, pacing=Pacing(seconds=3.0, warm_up=0.5))
    assert found["waiting"] == {
        "rows": pytest.approx((10 + 3 * 40) / 4),
        "row_bytes": pytest.approx(24 * (10 + 3 * 40) / 4),
        "results": pytest.approx(3 / 4),
        "result_bytes": pytest.approx(70 / 4),
    }


class Scripted:
    """Instead of Spark: rows leave a second late, and keeps what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[Replay] = []

    def run(self, replay: Replay, pacing: Pacing) -> list[list[Step]]:
        self.asked.append(replay)
        turns = np.arange(1, pacing.seconds / replay.turn + 1) * replay.turn
        return [[step(turn + 1, turn, replay.cost) for turn in turns] for _ in range(replay.queries)]


def test_every_round_has_every_policy_and_another_one_first(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted()

    @contextmanager
    def opened() -> Iterator[Scripted]:
        yield scripted

    monkeypatch.setattr(timed, "open_replayer", opened)
    settings = {"a": Replay(0.001, 4.0, "adaptive"), "b": Replay(0.002, 2.0, "adaptive", 3)}
    found = timed.measure(settings, Pacing(12.0, 4.0), 3, ("sync-filter", "filter-order", "adaptive"))
    asked = [(one.cost, one.policy) for one in scripted.asked[1:]]
    assert [policy for _, policy in asked[::6]] == ["sync-filter", "filter-order", "adaptive"]
    for first in range(0, 18, 3):
        assert len({cost for cost, _ in asked[first : first + 3]}) == 1
        assert len({policy for _, policy in asked[first : first + 3]}) == 3
    assert [point["name"] for point in found["points"]] == ["a", "b"]
    assert [point["queries"] for point in found["points"]] == [1, 3]
    # 0.002 s a pair, 200 and 0.5 rows a second, 4 s: 0.8 of a slot's time, times 3 queries, on two slots
    assert found["points"][1]["share"] == pytest.approx(1.2)
    assert {len(runs) for point in found["points"] for runs in point["rounds"].values()} == {3}
