"""Pieces of pairs take about as long as each other where functions check them, and cover all pairs in order."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest

from braid.kernels import pacing
from braid.kernels.checks import Check, prepare_checks
from braid.kernels.pacing import FIRST_PAIRS, PIECE_SECONDS, paced
from braid.kernels.rows import Pairs, Rows
from braid.optimizer.build import build_plan
from braid.testing import Draft
from braid.testing.expressions import equal


class Clock:
    """A clock that goes on by so much for every pair of a piece."""

    def __init__(self, pair_seconds: float) -> None:
        self.pair_seconds = pair_seconds
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    pacing._pair_seconds.clear()
    yield
    pacing._pair_seconds.clear()


def near(left: pa.Array, right: pa.Array) -> np.ndarray:
    raise AssertionError("cut, not called")


def pairs_of(length: int) -> Pairs:
    rows = Rows({"v": pa.array(range(length))}, {"v": "bigint"}, length)
    return Pairs(rows, rows, np.arange(length), np.arange(length)[::-1].copy())


def checks(with_function: bool) -> tuple[Check, ...]:
    draft = Draft()
    a, b = (draft.stream(name, {"v": "bigint"}, window_us=10) for name in "ab")
    draft = draft.on(equal(a["v"], b["v"]))
    if with_function:
        draft.on_function(near, a["v"], b["v"])
    return prepare_checks(build_plan(draft.logical_plan()).conjuncts)


def lengths(pairs: Pairs, own: tuple[Check, ...], clock: Clock) -> list[int]:
    found, at = [], 0
    for piece in paced(pairs, own):
        assert piece.left_positions.tolist() == list(range(at, at + piece.length))
        assert piece.right_positions.tolist() == [pairs.length - 1 - n for n in range(at, at + piece.length)]
        clock.now += piece.length * clock.pair_seconds
        found.append(piece.length)
        at += piece.length
    assert at == pairs.length
    return found


@pytest.mark.parametrize(
    ("pair_seconds", "expected"),
    [
        (1e-3, [FIRST_PAIRS, 250, 250, 244]),
        (0.1, [FIRST_PAIRS, *[2] * 372]),
        (1.0, [FIRST_PAIRS, *[1] * 744]),
        (1e-6, [FIRST_PAIRS, 744]),
    ],
)
def test_pieces_take_about_as_long(pair_seconds: float, expected: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(pair_seconds)
    monkeypatch.setattr(pacing, "time", clock)
    assert lengths(pairs_of(1000), checks(with_function=True), clock) == expected


def test_a_function_that_gets_slower_gets_fewer_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, own = Clock(1e-6), checks(with_function=True)
    monkeypatch.setattr(pacing, "time", clock)
    assert lengths(pairs_of(300), own, clock) == [FIRST_PAIRS, 44]
    assert lengths(pairs_of(5000), own, clock) == [5000], "what is known of the function lasts"
    clock.pair_seconds = 1e-3
    assert lengths(pairs_of(1000), own, clock) == [1000]
    assert lengths(pairs_of(1000), own, clock) == [round(PIECE_SECONDS / 1e-3)] * 4


def test_a_few_quick_pairs_say_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, own = Clock(1e-4), checks(with_function=True)
    monkeypatch.setattr(pacing, "time", clock)
    assert lengths(pairs_of(3), own, clock) == [3]
    clock.pair_seconds = 1e-6
    assert lengths(pairs_of(1000), own, clock) == [FIRST_PAIRS, 744]


def test_without_functions_all_pairs_are_one_piece() -> None:
    assert lengths(pairs_of(100_000), checks(with_function=False), Clock(1.0)) == [100_000]
    assert lengths(pairs_of(0), checks(with_function=True), Clock(1.0)) == []
