"""Every example runs, in the session of the tests, and prints what it should."""

from __future__ import annotations

import runpy
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[3] / "examples"
PRINTED = {
    "quotes.py": ("look up q by equality", "matches of 300 orders"),
    "similar_titles.py": ("red city bike 28 inch  ~  city bike red 28 inch used", "3 similar titles"),
    "three_streams.py": ("look up bought", "24 purchases after a click"),
    "each_batch.py": ("4 steps, ",),
    "near_duplicates.py": ("look up paper by time", "60 stories were in all three feeds"),
    "sensors.py": ("new rows of ground: sound, camera", "41 alarms by all three kinds", "40 of 40 events found"),
}


def test_every_example_is_tried() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(PRINTED)


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_runs(
    spark: SparkSession,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    printed = capsys.readouterr().out
    for text in PRINTED[name]:
        assert text in printed
