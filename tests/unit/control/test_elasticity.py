"""The controller of two-phase scaling: who asks for what, when it is granted, and how much."""

from __future__ import annotations

from dataclasses import replace

import pytest

from braid.control.elasticity import Elasticity, decide_scaling, is_due, units_to_change
from braid.plan.layout import Layout
from braid.state.manifest import Pressure

SETTINGS = Elasticity(
    low=0.3, high=0.8, target=0.6, patience=3, period_ms=60_000, capacity_bytes=100, min_units=1, max_units=None
)
EIGHT = Layout(0, "biclique", (4, 4), (1, 1))


def checks(layout: Layout, loads: list[tuple[int, int]], settings: Elasticity = SETTINGS) -> list[Layout]:
    """The layout after each of several checks of two sides that hold so many bytes."""
    pressures: tuple[Pressure, ...] = ()
    layouts = []
    for first, second in loads:
        decided = decide_scaling(settings, layout, {(0, 0): first, (1, 0): second}, pressures)
        layout, pressures = decided.layout, decided.pressures
        layouts.append(layout)
    return layouts


@pytest.mark.parametrize(
    ("load", "count", "change"),
    [(0.81, 4, 2), (0.9, 4, 2), (1.2, 4, 4), (0.29, 6, -4), (0.3, 6, -3), (0.0, 6, -6), (0.6, 5, 0), (0.601, 5, 1)],
)
def test_units_are_rounded_away_from_zero(load: float, count: int, change: int) -> None:
    assert units_to_change(SETTINGS, load, count) == change


def test_a_vote_counts_when_it_was_cast_often_enough_in_a_row() -> None:
    grown = checks(EIGHT, [(330, 330)] * 4)
    assert [layout.units for layout in grown] == [(4, 4), (4, 4), (6, 6), (6, 6)]


def test_short_fluctuations_move_nothing() -> None:
    wavering = [(330, 330), (330, 330), (240, 240), (330, 330), (330, 330), (100, 100), (100, 100), (240, 240)] * 3
    assert {layout.units for layout in checks(EIGHT, wavering)} == {(4, 4)}


def test_a_load_that_turns_starts_counting_again() -> None:
    assert checks(EIGHT, [(330, 240), (330, 240), (100, 240), (100, 240)])[-1].units == (4, 4)
    assert checks(EIGHT, [(330, 240), (330, 240), (100, 240), (100, 240), (100, 240)])[-1].units == (1, 4)


def test_four_units_are_added_and_six_removed_as_the_load_rises_and_falls() -> None:
    settings = replace(SETTINGS, min_units=3)
    up = checks(EIGHT, [(330, 330)] * 3, settings)[-1]
    assert sum(up.units) - sum(EIGHT.units) == 4
    down = checks(up, [(175, 175)] * 3, settings)[-1]
    assert sum(down.units) - sum(up.units) == -6


def test_sides_and_subgroups_decide_alone() -> None:
    layout = Layout(0, "biclique", (4, 4), (2, 2))
    stored = {(0, 0): 190, (0, 1): 100, (1, 0): 100, (1, 1): 20}
    decided = decide_scaling(replace(SETTINGS, patience=1), layout, stored, ())
    assert decided.layout.sizes == ((4, 2), (2, 1))
    assert [(s.stream, s.group, s.before, s.after) for s in decided.scalings] == [(0, 0, 2, 4), (1, 1, 2, 1)]
    assert "adds 2 of 2 units at a load of 95%" in decided.scalings[0].describe("r")


def test_bounds_hold_and_a_vote_they_forbid_is_no_scaling() -> None:
    bounded = replace(SETTINGS, patience=1, min_units=3, max_units=5)
    assert checks(EIGHT, [(2000, 0)], bounded)[-1].units == (5, 3)
    decided = decide_scaling(bounded, Layout(0, "biclique", (5, 3), (1, 1)), {(0, 0): 2000, (1, 0): 0}, ())
    assert decided.scalings == ()


def test_a_side_whose_windows_have_not_filled_does_not_shrink() -> None:
    """A run begins with nothing stored: by its load alone it would shrink at once, and grow again."""
    patient = replace(SETTINGS, patience=1)
    nothing = {(0, 0): 10, (1, 0): 10}
    assert decide_scaling(patient, EIGHT, nothing, (), growing=(0, 1)).scalings == ()
    assert decide_scaling(patient, EIGHT, nothing, (), growing=(0,)).layout.units == (4, 1)
    full = {(0, 0): 500, (1, 0): 10}
    assert decide_scaling(patient, EIGHT, full, (), growing=(0, 1)).layout.units == (9, 4), "it may grow"


def test_checks_come_once_a_period() -> None:
    assert is_due(SETTINGS, None, 5)
    assert not is_due(SETTINGS, 1_000, 60_999)
    assert is_due(SETTINGS, 1_000, 61_000)
