"""Records and commands of a few slots, written as those of many."""

from __future__ import annotations

import pytest

from braid.engine.sending import command_files
from braid.state import compact, manifests


def as_with_many_slots(monkeypatch: pytest.MonkeyPatch, snapshot_every: int) -> None:
    """Every command is a file, every tuple is packed, and snapshots are frequent."""
    monkeypatch.setattr(command_files, "INLINE_BYTES", 0)
    monkeypatch.setattr(compact, "MIN_PACKED", 1)
    monkeypatch.setattr(manifests, "SNAPSHOT_EVERY", snapshot_every)
