"""What all experiments share: verdicts, records that keep what failed, and pages made of records alone."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from experiments.claims import Claim, Judged, Measured, Ratio, Verdict, all_of
from experiments.experiment import Experiment, Table
from experiments.page import Paper, page_text, write_page
from experiments.pictures import Kind, Picture, Series, draw
from experiments.records import Earlier, Record, keep_record, make_record, read_record

BOUND = 2
REASON = "a text, which is no setting"


@dataclass(frozen=True)
class Size:
    name: str
    rows: int


SIZE = Size("quick", 3)


def more(measured: Measured) -> Verdict:
    return Verdict(f"{measured['found']} times", measured["found"] >= BOUND, "It rained.")


def measure(size: Size) -> Measured:
    return {"found": size.rows, "by": {1: (2, 3)}}


EXPERIMENT = Experiment(
    "example",
    "An example",
    ("Figure 3",),
    measure,
    lambda measured, settings: f"Counted {measured['found']} of {settings['size.rows']}.",
    (
        Claim("more", "more is more", "2 times", more),
        Claim("certain", "three is three", "3", lambda _: Verdict("3", True), "it is the same number"),
    ),
    lambda measured: [Table(("what", "how many"), (("these", str(measured["found"])),), "A caption")],
    lambda measured: [Picture("", "A picture", "along", ("up",), (Series("a", ((1, 2.0), (2, 4.0))),))],
)
PAPER = Paper(
    "paper", "A paper", "What it says.", (EXPERIMENT,), {"quick": SIZE}, ("Figure 3", "Figure 4"), {"Figure 4": "Why."}
)
RUN = {
    "date": "2026-11-15T00:10:00",
    "size": "quick",
    "machine": {"cores": 2, "processor": "some", "memory_gib": 8, "load_average": [0.5]},
    "versions": {"commit": "abc", "source": "def", "python": "3"},
}


def page(record: Record) -> str:
    return page_text(PAPER, "quick", {"example": record}, "pictures")


def test_a_record_has_what_was_measured_and_what_could_have_been_chosen_otherwise() -> None:
    record = make_record(EXPERIMENT, SIZE, RUN)
    assert record.measured == {"found": 3, "by": {"1": [2, 3]}}
    assert record.settings["size.rows"] == 3
    assert record.settings["test_shape.BOUND"] == 2
    assert "test_shape.REASON" not in record.settings
    assert record.verdicts["more"] == {
        "text": "more is more",
        "here": "3 times",
        "holds": True,
        "why": "It rained.",
    }


def test_a_record_is_read_back_as_it_was_kept(tmp_path: Path) -> None:
    path = tmp_path / "results" / "example.json"
    assert read_record(path) is None
    record = keep_record(path, make_record(EXPERIMENT, SIZE, RUN))
    assert read_record(path) == record
    assert sorted(json.loads(path.read_text())) == ["earlier", "measured", "run", "settings", "verdicts"]


def test_claims_that_failed_stay_in_the_record_when_settings_change(tmp_path: Path) -> None:
    path = tmp_path / "example.json"
    keep_record(path, make_record(EXPERIMENT, Size("quick", 1), RUN))
    record = keep_record(path, make_record(EXPERIMENT, SIZE, RUN))
    (earlier,) = record.earlier
    assert earlier.settings == {"size.rows": 1}
    assert earlier.verdicts == {"more is more": "1 times"}
    again = keep_record(path, make_record(EXPERIMENT, Size("quick", 4), RUN))
    assert again.earlier == record.earlier
    assert read_record(path) == again
    text = page(again)
    assert "Earlier, 2026-11-15 00:10 UTC at commit abc, with size.rows 1, these did not hold:" in text
    assert "- more is more: 1 times" in text


def test_an_earlier_failure_with_the_same_figures_is_counted_and_not_repeated() -> None:
    record = make_record(EXPERIMENT, Size("quick", 1), RUN)
    failed = {"more is more": "1 times"}
    earlier = Earlier("2026-11-14T00:00:00", "abb", {}, failed)
    text = page(replace(record, earlier=(earlier,)))
    begin = "Earlier, 2026-11-14 00:00 UTC at commit abb, before settings were added, "
    assert f"{begin}one claim did not hold, with the same figures as now." in text
    assert "- more is more" not in text
    both = replace(earlier, settings={"size.rows": 2}, verdicts={**failed, "less is less": "5 times"})
    text = page(replace(record, earlier=(both,)))
    assert (
        "size.rows 2, these did not hold, beside one claim with the same figures as now:\n\n- less is less: 5" in text
    )


@pytest.mark.parametrize("rows", [1, 3], ids=["same settings", "no failure"])
def test_only_failures_under_other_settings_are_kept(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "example.json"
    keep_record(path, make_record(EXPERIMENT, Size("quick", rows), RUN))
    assert keep_record(path, make_record(EXPERIMENT, Size("quick", 1), RUN)).earlier == ()


def test_the_page_has_every_claim_table_and_picture(tmp_path: Path) -> None:
    record = make_record(EXPERIMENT, SIZE, RUN)
    path = tmp_path / "docs" / "paper.md"
    write_page(path, PAPER, "quick", {"example": record}, tmp_path / "docs" / "pictures")
    text = path.read_text()
    assert text == page(record)
    assert "Of 2 claims 1 holds, 0 do not, 0 are undecided; 1 could not have come out otherwise" in text
    assert "| more is more | 2 times | 3 times | holds |" in text
    assert "| three is three | 3 | 3 | by construction: it is the same number |" in text
    assert "| section | of the paper | holds | does not hold | undecided | by construction |" in text
    assert "| [An example](#an-example) | Figure 3 | 1 | 0 | 0 | 1 |" in text
    assert "Counted 3 of 3." in text
    assert "Measured 2026-11-15 00:10 UTC at commit abc, source def, 2 cores of some, 8 GiB, load 0.5" in text
    assert "All sections measured the same Braid, source def (`git rev-parse COMMIT:src`)." in " ".join(text.split())
    assert "A caption\n\n| what | how many |" in text
    assert "| these | 3 |" in text
    assert "`test_shape.BOUND` 2" in text
    assert "| Figure 4 | Why. |" in text
    assert "It rained." not in text
    for name in ("overview", "example"):
        assert f"](pictures/{name}.svg)" in text
        assert (tmp_path / "docs" / "pictures" / f"{name}.png").stat().st_size > 0


def test_a_claim_that_does_not_hold_has_its_reason_on_the_page() -> None:
    text = page(make_record(EXPERIMENT, Size("quick", 1), RUN))
    assert "| more is more | 2 times | 1 times | **does not hold** |" in text
    assert "It rained." in text


def test_a_claim_that_is_judged_otherwise_than_when_it_was_measured_says_so() -> None:
    record = make_record(EXPERIMENT, SIZE, RUN)
    verdicts = {"more": {**record.verdicts["more"], "here": "too few", "holds": False}}
    text = page(replace(record, verdicts=verdicts))
    assert "Judged otherwise when it was measured: more is more: too few." in text


def test_what_is_by_construction_and_fails_is_not_called_so() -> None:
    claim = Claim("a", "b", "c", more, "it must")
    assert Judged(claim, Verdict("3", True)).word == "by construction"
    assert Judged(claim, Verdict("1", False)).word == "does not hold"
    assert Judged(claim, Verdict("1", None)).word == "undecided"


def test_an_experiment_without_a_record_waits() -> None:
    text = page_text(PAPER, "quick", {}, "pictures")
    assert "it waits for the next run" in text
    assert "Of 0 claims" in text
    assert "| [An example](#an-example) | Figure 3 |  |  |  |  |" in text


def test_links_of_the_contents_lead_to_the_headings() -> None:
    experiment = replace(EXPERIMENT, title="On Spark: windows, 10 to 60 s (modelled)")
    text = page_text(replace(PAPER, experiments=(experiment,)), "quick", {}, "pictures")
    assert "(#on-spark-windows-10-to-60-s-modelled)" in text


def test_rounds_that_disagree_or_are_few_decide_nothing() -> None:
    assert Ratio((0.9, 0.8, 0.7)).below(1) is True
    assert Ratio((1.1, 1.2, 1.3)).below(1) is False
    assert Ratio((0.9, 1.2, 1.1)).above(1) is None
    assert Ratio((0.9, 0.8)).below(1) is None
    assert str(Ratio.of((2.0, 3.0, 4.0), (2.0, 2.0, 2.0))) == "1.50 (1.00 to 2.00)"
    assert all_of(True, True) is True
    assert all_of(True, None) is None
    assert all_of(None, False) is False


@pytest.mark.parametrize("kind", ["lines", "dots", "bars", "boxes"])
def test_every_kind_of_picture_is_drawn(tmp_path: Path, kind: Kind) -> None:
    value: Any = (1.0, 2.0, 3.0, 4.0, 5.0) if kind == "boxes" else 3.0
    series = tuple(Series(name, ((1, value), (2, value)), panel) for name in "ab" for panel in (0, 1))
    draw(Picture("", "Title", "along, s", ("up", "down"), series, kind, "log"), tmp_path, kind)
    assert (tmp_path / f"{kind}.png").stat().st_size > 0
    assert "<svg" in (tmp_path / f"{kind}.svg").read_text()
