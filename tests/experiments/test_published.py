"""The published pages are what their records give, and have or excuse every figure and table of the papers."""

from __future__ import annotations

import pytest

from experiments.command import DOCS, PAPERS, PICTURES, read_records
from experiments.page import page_text, picture_folder

PAGES = sorted(PAPERS)


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_what_its_records_give(name: str) -> None:
    path = DOCS / f"{name}.md"
    text = page_text(PAPERS[name], "full", read_records(name, "full"), picture_folder(path, PICTURES / name))
    assert path.read_text() == text


@pytest.mark.parametrize("name", PAGES)
def test_every_claim_is_judged_on_its_record(name: str) -> None:
    records = read_records(name, "full")
    for experiment in PAPERS[name].experiments:
        if experiment.name in records:
            judged = experiment.judged(records[experiment.name].measured)
            names = [one.claim.name for one in judged]
            assert names
            assert len(set(names)) == len(names)


@pytest.mark.parametrize("name", PAGES)
def test_every_figure_and_table_is_shown_or_excused(name: str) -> None:
    paper = PAPERS[name]
    measured = {part for experiment in paper.experiments for part in experiment.shown_in}
    assert set(paper.shown) - measured - set(paper.not_measured) == set()


@pytest.mark.parametrize("name", PAGES)
def test_every_picture_of_the_page_is_there(name: str) -> None:
    path = DOCS / f"{name}.md"
    named = {line.rpartition("(")[2].rstrip(")") for line in path.read_text().splitlines() if line.startswith("![")}
    assert named
    for picture in named:
        assert (path.parent / picture).exists()
        assert (path.parent / picture).with_suffix(".png").exists()
    assert {one.stem for one in (PICTURES / name).iterdir()} == {picture.rpartition("/")[2][:-4] for picture in named}
