"""Some runs store payloads apart from their rows, by the name of the test."""

from __future__ import annotations

import pytest

from tests.properties.payloads import some_payloads_apart


@pytest.fixture(autouse=True)
def _some_payloads_apart(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    some_payloads_apart(monkeypatch, request.node.name)
