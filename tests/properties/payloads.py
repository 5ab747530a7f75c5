"""Payloads apart from their rows in random cases: from the first step on in some, now and then in others, or never."""

from __future__ import annotations

import random

import pytest

from braid.control import keeping
from braid.engine import delta
from braid.optimizer.payloads import PayloadChoice, choose_payloads
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.payloads import payload_columns
from braid.state.manifest import Manifest


def payloads_as_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """What steps measure decides, as outside of tests."""
    monkeypatch.setattr(delta, "choose_payloads", choose_payloads)
    monkeypatch.setattr(keeping, "MOST_PAYLOAD_STEPS", 64)


def some_payloads_apart(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Decide by the name of a test, which has its seed, which steps store which payloads apart."""
    chance = random.Random(name)
    share = chance.choice((0.0, 0.5, 0.8, 1.0))
    monkeypatch.setattr(keeping, "MOST_PAYLOAD_STEPS", chance.choice((1, 3, 64)))

    def choose(plan: JoinPlan, layout: Layout, manifest: Manifest) -> tuple[PayloadChoice, ...]:
        """As the steps of a run may decide: the same again for the same manifest."""
        chosen = choose_payloads(plan, layout, manifest)
        # What was measured is against it, or nothing was.
        can = {choice.stream for choice in chosen if "a row" in choice.reason or "measures" in choice.reason}
        drawn = random.Random(f"{name} {manifest.step}")
        return tuple(
            PayloadChoice(s, s in can and bool(payload_columns(plan, s)) and drawn.random() < share, "drawn")
            for s in range(len(plan.streams))
        )

    monkeypatch.setattr(delta, "choose_payloads", choose)
