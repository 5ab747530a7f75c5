"""The experiments at their quick size: every claim they check holds, and the page is made of the record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.workloads.tpch import generator
from experiments import bistream
from experiments.bistream.models import model
from experiments.bistream.size import Size
from experiments.outcome import Claim, Curve, Outcome, all_hold
from experiments.page import write_page

OUTCOME = Outcome(
    "example",
    "An example",
    "Counted.",
    (Claim("more is more", "2 times", "2.1 times", True),),
    ("what", "how many"),
    (("these", "3"),),
    (Curve("a", ((1.0, 2.0), (2.0, 4.0))),),
    ("along", "up"),
)
RUN = {
    "date": "2026-11-15T00:00:00",
    "size": "quick",
    "machine": {"cores": 2, "processor": "some", "memory_gib": 8},
    "versions": {"commit": "abc"},
}


@pytest.mark.skipif(generator() is None, reason="TPC-H's rows need tpchgen-cli, from the extra bench")
@pytest.mark.parametrize("experiment", bistream.EXPERIMENTS, ids=lambda experiment: experiment.__name__)
def test_the_claims_of_the_join_biclique_hold(experiment: Callable[[Size], Outcome]) -> None:
    outcome = experiment(bistream.SIZES["quick"])
    assert outcome.claims
    assert [claim for claim in outcome.claims if claim.holds is False] == []
    assert Outcome.from_json(outcome.to_json()) == outcome


def test_a_claim_that_does_not_hold_is_told() -> None:
    assert all_hold([OUTCOME])
    assert not all_hold([OUTCOME, replace(OUTCOME, claims=(Claim("less", "1", "2", False),))])


def test_the_page_has_every_claim_table_and_picture(tmp_path: Path) -> None:
    page = tmp_path / "docs" / "paper.md"
    write_page(page, "A paper", "What it says.", [OUTCOME], RUN, tmp_path / "docs" / "pictures")
    text = page.read_text()
    assert "| more is more | 2 times | 2.1 times | holds |" in text
    assert "| these | 3 |" in text
    assert "![An example](pictures/example.svg)" in text
    assert (tmp_path / "docs" / "pictures" / "example.png").stat().st_size > 0


@pytest.mark.parametrize("name", ["JX4", "JM15", "biclique"])
def test_settings_that_the_paper_has_not_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=name):
        model(name)
