"""Thresholds so low that few rows go to many units, few samples make ranges, and few pairs redistribute slices."""

from __future__ import annotations

import pytest

from braid.control import ranging
from braid.placement import units
from tests.properties.payloads import some_payloads_apart
from tests.properties.slicing import adapt_often


@pytest.fixture(autouse=True)
def _few_rows_suffice(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.setattr(units, "MIN_ROWS_PER_UNIT", 1)
    monkeypatch.setattr(ranging, "MIN_SAMPLED_ROWS", 4)
    monkeypatch.setattr(ranging, "MIN_GAIN", 1.01)
    adapt_often(monkeypatch)
    some_payloads_apart(monkeypatch, request.node.name)
