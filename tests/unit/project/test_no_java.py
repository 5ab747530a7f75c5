"""Tests without the marker `spark` start no JVM: they cannot, neither in their process nor in a child."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

START_A_SESSION = "from pyspark.sql import SparkSession; SparkSession.builder.master('local[1]').getOrCreate()"
ROOT = Path(__file__).parents[3]
REFUSAL = "this test starts a JVM: let it ask for the fixture java"


@pytest.mark.parametrize(
    "command", [[sys.executable, "-c", START_A_SESSION], ["java", "-version"]], ids=["Spark", "Java"]
)
def test_a_test_that_asks_for_no_spark_can_start_none(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert REFUSAL in done.stderr


def test_tests_are_marked_by_what_they_ask_for(tmp_path: Path) -> None:
    """The rule, applied by pytest to a file outside of this project's tests."""
    (tmp_path / "test_some.py").write_text(
        "import pytest\n"
        "@pytest.fixture\n"
        "def through(spark): ...\n"
        "def test_session(spark): ...\n"
        "def test_child(java): ...\n"
        "def test_through(through): ...\n"
        "def test_fast(tmp_path): ...\n"
    )
    options = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "-m", "not spark"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line] == ["test_fast"], done.stderr
