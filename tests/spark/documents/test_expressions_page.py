"""docs/expressions.md says what the code does: every example goes the way the page says, and no rule is left out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from braid.analysis import AnalyzedStream, Analyzer, translate
from braid.analysis.catalyst import Node
from braid.kernels.expressions.decimal_types import MAX_DIGITS, SIGN_DIGITS

PAGE = (Path(__file__).parents[3] / "docs" / "expressions.md").read_text()
CODE = re.compile(r"`([^`]+)`")
INTERNAL = {"Alias", "With", "CommonExpressionRef"}
"""Nodes that Spark's analyzer puts around others; nobody writes them."""


def examples(heading: str) -> list[str]:
    """The code in the first column of the table below a heading."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| `")]
    return [code.replace("\\|", "|") for row in rows for code in CODE.findall(row.split(" | ")[0])]


def test_examples_go_the_way_the_page_says_and_no_rule_is_left_out(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    ddl = PAGE.partition("```\n")[2].partition("```")[0]
    analyzer = Analyzer(spark, [AnalyzedStream(name, StructType.fromDDL(ddl), "ts") for name in ("a", "b")])
    met: set[str] = set()
    known = translate._Translation.of

    def note(self: translate._Translation, node: Node) -> object:
        met.add(node.kind)
        return known(self, node)

    fast, slow = examples("Evaluated in the Python workers"), examples("Evaluated in the JVM")
    assert len(fast) > 40
    assert len(slow) > 25
    enclosed = examples("Pairs excluded in the Python workers, the rest decided in the JVM")
    assert len(enclosed) > 5
    with monkeypatch.context() as watched:
        watched.setattr(translate._Translation, "of", note)
        found = analyzer.selection([f"{text} AS x{n}" for n, text in enumerate(fast)])
        undecided = [analyzer.predicate(text)[0] for text in enclosed]
    assert [c.written for c in undecided if c.expression is not None or c.possible is None] == []
    assert [text for text, output in zip(fast, found, strict=True) if output.expression is None] == []
    assert {*translate._RULES, *translate._WRAPPERS} - INTERNAL - met == set()
    found = analyzer.selection([f"{text} AS x{n}" for n, text in enumerate(slow)])
    assert [text for text, output in zip(slow, found, strict=True) if output.expression is not None] == []


def test_the_types_are_those_of_the_code() -> None:
    assert {*examples("Types")} == {*translate._TYPES, "decimal"} - {"void"}
    assert f"up to {MAX_DIGITS} digits" in PAGE
    assert f"more than {SIGN_DIGITS} digits" in PAGE
    assert f"at most {translate._LONGEST_FLOAT_LIST} values of float and double" in PAGE
