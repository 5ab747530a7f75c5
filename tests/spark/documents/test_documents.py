"""The code in README.md and the pages of docs runs as it stands, block after block in one namespace."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import braid
from braid import errors, testing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
PYTHON_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
PATIENCE_SECONDS = 300


def python_blocks(document: Path) -> list[str]:
    """The blocks, each after as many empty lines as make tracebacks point into the document."""
    text = document.read_text()
    return ["\n" * text[: found.start(1)].count("\n") + found[1] for found in PYTHON_BLOCK.finditer(text)]


def run_blocks(document: Path, namespace: dict[str, Any]) -> None:
    for block in python_blocks(document):
        exec(compile(block, str(document), "exec"), namespace)


@pytest.fixture
def workplace(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A new directory to be in, for Python and for the JVM: the documents write where they are."""
    monkeypatch.chdir(tmp_path)
    jvm: Any = spark.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop.fs
    local = hadoop.FileSystem.getLocal(spark._jsc.hadoopConfiguration())
    before = local.getWorkingDirectory()
    local.setWorkingDirectory(hadoop.Path(str(tmp_path)))
    yield tmp_path
    local.setWorkingDirectory(before)


def await_rest(run: braid.Run, timeout: float | None = None) -> bool:
    """In place of waiting for ever: wait until a step was made and no rows are left, then stop."""
    end = time.monotonic() + PATIENCE_SECONDS
    while run.isActive and time.monotonic() < end:
        if run.lastProgress is not None and not run.status["isDataAvailable"]:
            break
        time.sleep(0.05)
    run.stop()
    failure = run.exception()
    if failure is not None:
        raise failure
    return True


def test_the_readme_runs(
    spark: SparkSession, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = spark.range(60).selectExpr(
        "id",
        "timestamp_seconds(1767254400 + id) AS ts",
        "IF(id % 2 = 0, 'AAA', 'BBB') AS symbol",
        "round(10 + id / 100, 2) AS price",
    )
    rows.write.parquet(str(workplace / "rows"))
    frames = [spark.readStream.schema(rows.schema).parquet(str(workplace / "rows")) for _ in range(2)]
    monkeypatch.setattr(braid.Run, "awaitTermination", await_rest)
    run_blocks(ROOT / "README.md", {"orders_df": frames[0], "quotes_df": frames[1]})
    assert "look up q by equality" in capsys.readouterr().out
    result = spark.read.parquet(str(workplace / "out"))
    assert result.columns == ["order_id", "quote_id", "slip"]
    left, right = rows.alias("o"), rows.alias("q")
    expected = left.join(right, on=_readme_condition())
    assert result.count() == expected.count() > 60


def _readme_condition() -> Any:
    from pyspark.sql import functions as sf

    return sf.expr("o.symbol = q.symbol AND abs(o.price - q.price) <= 0.05")


def test_the_guide_runs(spark: SparkSession, workplace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run_blocks(ROOT / "docs" / "guide.md", {"spark": spark, "__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "0 late rows" in printed
    assert 'has window="auto"' in printed
    assert "differs from the one that wrote it" in printed
    assert not re.search(r"^0 (new )?results", printed, re.MULTILINE)


def test_the_page_on_missing_results_runs(
    spark: SparkSession, workplace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_blocks(ROOT / "docs" / "why-is-my-result-missing.md", {"spark": spark, "__name__": "__main__"})
    printed = capsys.readouterr().out
    assert "waits: 6 rows of f wait for w" in printed
    assert "more results in a wider window" in printed


def test_the_readme_installs_what_there_is() -> None:
    """The wheel has the name of the version; no document names a package on an index."""
    readme = (ROOT / "README.md").read_text()
    wheels = set(re.findall(r"braid_spark-[^ `]+\.whl", readme))
    assert wheels == {f"braid_spark-{braid.__version__}-py3-none-any.whl"}
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        assert not re.search(r"pip install[^\n]*braid-spark", document.read_text()), document.name


def public_names() -> list[str]:
    """What a user may call: the package's names, the errors, the testing kit, and the members of what users hold."""
    found = [*braid.__all__, *testing.__all__]
    found += [name for name, kind in vars(errors).items() if isinstance(kind, type)]
    for kind in (braid.Join, braid.Writer, braid.Run):
        fields = getattr(kind, "__dataclass_fields__", {})
        found += [name for name in vars(kind) if not name.startswith("_") and name not in fields]
    return found


def test_the_reference_is_complete() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    assert [name for name in public_names() if not re.search(rf"\b{name}\b", reference)] == []


@pytest.mark.parametrize("document", [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")], ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    for target in LINK.findall(document.read_text()):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"
