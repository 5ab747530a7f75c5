"""Time slices of every kind, and thresholds so low that they are redistributed and cut again nearly every step."""

from __future__ import annotations

import random

import pytest

from braid.control.slicing import balancing, smoothing
from braid.optimizer.strategies import TimeSliced
from braid.plan.logical import LogicalPlan


def adapt_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancing, "MIN_PAIRS_PER_UNIT", 0)
    monkeypatch.setattr(balancing, "MAX_IMBALANCE", 1.01)
    monkeypatch.setattr(balancing, "GROWING_IMBALANCE", 1.01)
    monkeypatch.setattr(balancing, "MIN_GAIN", 1.001)
    monkeypatch.setattr(balancing, "PATIENCE", 1)
    monkeypatch.setattr(smoothing, "MIN_CHANGE", 1.05)


def some_slices(logical_plan: LogicalPlan, chance: random.Random) -> TimeSliced:
    """Rings of any length and slices of any number, in both ways, adapted or not."""
    slices = {stream.name: chance.randint(1, 9) for stream in logical_plan.streams}
    return TimeSliced(
        chance.randint(1, 5),
        chance.choice(("auto", slices, slices)),
        slicing=chance.choice(("time", "count")),
        adapt=chance.choice(("off", "passive", "aggressive")),
    )
