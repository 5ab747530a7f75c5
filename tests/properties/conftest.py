"""Thresholds so low that few rows go to many units, and few samples make ranges."""

from __future__ import annotations

import pytest

from braid.control import ranging
from braid.placement import units


@pytest.fixture(autouse=True)
def _few_rows_suffice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "MIN_ROWS_PER_UNIT", 1)
    monkeypatch.setattr(ranging, "MIN_SAMPLED_ROWS", 4)
    monkeypatch.setattr(ranging, "MIN_GAIN", 1.01)
