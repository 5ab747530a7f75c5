"""Functions of strings in workers, against Spark: any bytes, characters of every length, NULLs and empty strings."""

from __future__ import annotations

import random
import string

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from braid.kernels.expressions.enclosures import PossibleEvaluator
from braid.kernels.expressions.evaluate import is_true, to_vector
from braid.plan.expressions import columns_of
from tests.spark.analysis.test_functions import SEED, analyzer_of, compare, spark_values

DDL = "s string, i int, j int, ts timestamp"
FUNCTIONS = [
    *(
        f"{name}(o.s)"
        for name in ("length", "char_length", "octet_length", "bit_length", "trim", "ltrim", "rtrim", "btrim")
    ),
    *(f"{name}(o.s, q.s)" for name in ("startswith", "endswith", "concat", "levenshtein")),
    *(f"{name}(o.s, '{text}')" for name in ("startswith", "endswith", "contains") for text in ("a", "", "ß", "b a")),
    *(f"{name}(o.s, {n})" for name in ("left", "right") for n in (1, 3, 100)),
    *(f"o.s LIKE '{pattern}'" for pattern in ("a%", "%a", "%ß%", "ab", "", "%", "%%")),
    *(f"substring(o.s, {at}, {count})" for at in (-7, -2, 0, 1, 3) for count in (-1, 0, 2, 2147483647)),
    "substring(o.s, o.i)",
    "substring(o.s, o.i, q.j)",
    "substr('straße', o.i, o.j)",
    "o.s || 'x' || q.s",
    "concat(o.s)",
    "levenshtein(o.s, 'straße')",
    "levenshtein('', o.s)",
    "startswith('abc', o.s)",
    "endswith('abc', o.s)",
    "concat(trim(o.s), '-', substring(q.s, 2)) = trim(concat(o.s, '-', q.s))",
    "length(concat(o.s, q.s)) > levenshtein(o.s, q.s) AND greatest(o.s, q.s) LIKE 'a%'",
]
CASES = [
    "lower(o.s) = lower(q.s)",
    "upper(o.s) < q.s",
    "NOT lower(o.s) LIKE 'a%'",
    "levenshtein(lower(o.s), lower(q.s)) <= 1",
    "coalesce(lower(o.s), 'x') = q.s OR upper(trim(o.s)) >= 'B'",
]
ALPHABETS = ("ab", "ab ", "aAbB", "éßàİıſK", "Σσςα", "日本語", "😀𝒳a", string.printable)


def texts(seed: int, count: int) -> list[str | None]:
    """Short strings that are often equal, long ones, and some of every alphabet."""
    generator = random.Random(seed)
    sizes = (0, 1, 2, 2, 3, 3, 5, 12)
    known = [
        "",
        " ",
        "a",
        "a ",
        " a",
        "  ",
        "straße",
        "STRASSE",
        "İ",
        "ΑΣ",
        "x" * 63,
        "é" * 64,
        "y" * 65 + "é",
        "z" * 200,
    ]
    made = ["".join(generator.choices(generator.choice(ALPHABETS), k=generator.choice(sizes))) for _ in range(count)]
    return [None if generator.random() < 0.02 else text for text in (known + made)[:count]]


def table_of(seed: int, count: int) -> pa.Table:
    generator = random.Random(seed)
    columns = {}
    for name in ("o", "q"):
        own = texts(seed if name == "o" else seed + 1, count)
        generator.shuffle(own)
        columns[f"{name}.s"] = pa.array(own, pa.string())
        for number in "ij":
            columns[f"{name}.{number}"] = pa.array(
                [generator.choice([None, -9, -2, -1, 0, 1, 2, 3, 9]) for _ in own], pa.int32()
            )
    return pa.table(columns)


def test_functions_of_strings(spark: SparkSession) -> None:
    compare(spark, DDL, FUNCTIONS, table_of(SEED, 3000))


def test_strings_that_are_no_text(spark: SparkSession) -> None:
    """Bytes that are no UTF-8 count as characters as in Spark. Only whole characters: Spark reads on after others."""
    generator = random.Random(SEED)
    pieces = [
        b"a",
        b"b",
        b" ",
        b"\x80",
        b"\xff",
        b"\xc0",
        b"\xc3\xa9",
        b"\xe2\x82\xac",
        b"\xf0\x9f\x98\x80",
        b"\xc3a",
        b"\xe2zz",
    ]
    columns = {}
    for name in ("o.s", "q.s"):
        values = [b"".join(generator.choices(pieces, k=generator.choice((0, 1, 2, 4, 9)))) for _ in range(1500)]
        columns[name] = pa.array(values, pa.binary()).view(pa.string())
    numbers = {f"{name}.{number}": pa.array([2] * 1500, pa.int32()) for name in "oq" for number in "ij"}
    wanted = [
        "length(o.s)", "substring(o.s, 2, 3)", "substring(o.s, -3, 2)", "startswith(o.s, q.s)", "endswith(o.s, q.s)",
        "levenshtein(o.s, q.s)", "trim(o.s)", "contains(o.s, 'a')", "o.s LIKE '%b'",
    ]  # fmt: skip
    numeric = [text for text in wanted if not text.startswith(("substring", "trim"))]
    table = pa.table({**columns, **numbers})
    compare(spark, DDL, [*numeric, *(f"octet_length({text})" for text in wanted if text not in numeric)], table)


@pytest.mark.parametrize("predicate", CASES)
def test_case_in_ascii_excludes_pairs_and_loses_none(spark: SparkSession, predicate: str) -> None:
    table = table_of(SEED, 3000)
    analyzer = analyzer_of(spark, DDL)
    (conjunct,) = analyzer.predicate(predicate)
    assert conjunct.expression is None
    assert conjunct.possible is not None
    vectors = {c.name: to_vector(table[c.name], c.type) for c in columns_of(conjunct.possible)}
    possible = is_true(PossibleEvaluator(conjunct.possible)(vectors.__getitem__))
    (output,) = analyzer.selection([f"{predicate} AS c"])
    true = spark_values(spark, table, [output])[0].fill_null(False).to_numpy(zero_copy_only=False)
    assert not (true & ~possible).any()
    ascii_only = [
        all(v is None or v.isascii() for v in row) for row in zip(*(table[c].to_pylist() for c in vectors), strict=True)
    ]
    assert (possible == true)[ascii_only].all()
    assert not possible[ascii_only].all()
