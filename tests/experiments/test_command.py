"""`braid experiments run` and its records: which of them make a page."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import command
from experiments.records import keep_record, make_record, record_path
from tests.experiments.test_shape import PAPER, RUN, Size


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one paper, which has no record."""
    for name in ("HOME", "DOCS", "PICTURES"):
        monkeypatch.setattr(command, name, tmp_path / name.lower())
    monkeypatch.setattr(command, "PAPERS", {PAPER.name: PAPER})
    return tmp_path


def keep(home: Path, size: Size) -> None:
    """A record of the paper's one experiment."""
    (experiment,) = PAPER.experiments
    keep_record(record_path(home / PAPER.name, size.name, experiment.name), make_record(experiment, size, RUN))


def test_a_page_is_of_the_full_records_where_there_are_any(checkout: Path) -> None:
    page = checkout / "docs" / f"{PAPER.name}.md"
    keep(checkout / "home", Size("quick", 3))
    assert command.publish_page(PAPER.name) == "quick"
    assert "Counted 3 of 3." in page.read_text()
    keep(checkout / "home", Size("full", 4))
    assert command.publish_page(PAPER.name) == "full"
    assert "Counted 4 of 4." in page.read_text()
    keep(checkout / "home", Size("quick", 5))
    assert command.publish_page(PAPER.name) == "full"
    assert "Counted 4 of 4." in page.read_text()
