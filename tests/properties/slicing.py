"""Time slices of every kind, and thresholds so low that slices and rings change nearly every step."""

from __future__ import annotations

import random

import pytest

from braid.control.slicing import balancing, lengths, smoothing
from braid.optimizer import check_orders, ring_estimates, sequences
from braid.optimizer.strategies import TimeSliced
from braid.plan.join import JoinPlan
from braid.plan.logical import LogicalPlan
from braid.state.manifest import Manifest


def adapt_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balancing, "MIN_PAIRS_PER_UNIT", 0)
    monkeypatch.setattr(balancing, "MAX_IMBALANCE", 1.01)
    monkeypatch.setattr(balancing, "GROWING_IMBALANCE", 1.01)
    monkeypatch.setattr(balancing, "MIN_GAIN", 1.001)
    monkeypatch.setattr(balancing, "PATIENCE", 1)
    monkeypatch.setattr(smoothing, "MIN_CHANGE", 1.05)


def change_rings_often(monkeypatch: pytest.MonkeyPatch, *, at_once: bool = True) -> None:
    """After every other step a unit more seems to take a second, after the others nothing: rings change with that.

    Any gain and few rows are enough; `at_once` also while rows of older layouts are left, and while windows fill.
    """
    monkeypatch.setattr(ring_estimates, "MIN_ROWS", 1.0)
    monkeypatch.setattr(ring_estimates, "MIN_GAIN", 1.000001)
    monkeypatch.setattr(ring_estimates, "_hop_seconds", hop_of)
    monkeypatch.setattr(check_orders, "MIN_PAIRS", 3.0)
    monkeypatch.setattr(check_orders, "MIN_SAMPLED", 3.0)
    monkeypatch.setattr(sequences, "MIN_PROBES", 3.0)
    monkeypatch.setattr(lengths, "PATIENCE", 1)
    if at_once:
        monkeypatch.setattr(lengths, "why_not_yet", lambda *_: None)


def hop_of(_: JoinPlan, manifest: Manifest | None) -> float:
    return 1.0 if manifest is not None and manifest.step % 2 else 1e-9


def some_slices(logical_plan: LogicalPlan, chance: random.Random) -> TimeSliced:
    """Rings of any length and slices of any number, in both ways, adapted or not."""
    slices = {stream.name: chance.randint(1, 9) for stream in logical_plan.streams}
    return TimeSliced(
        chance.randint(1, 5),
        chance.choice(("auto", slices, slices)),
        slicing=chance.choice(("time", "count")),
        adapt=chance.choice(("off", "passive", "aggressive")),
    )
