"""Intervals around functions whose last bits depend on the JVM: they have its values, and exclude most others."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from braid.analysis import AnalyzedStream, Analyzer
from braid.kernels.expressions.enclosures import PossibleEvaluator
from braid.kernels.expressions.evaluate import is_true, to_vector
from tests.spark.analysis.doubles import hard_doubles

SEED = 20_261
COLUMNS = "x double, z double, y double, ts timestamp"
HALF_CHORD = """pow(sin(radians(o.x - q.x) / 2), 2)
    + cos(radians(o.x)) * cos(radians(q.x)) * pow(sin(radians(o.z - q.z) / 2), 2)"""
DISTANCES = {
    "haversine": f"2 * 6371 * asin(sqrt({HALF_CHORD}))",
    "haversine by products": """2 * 6371 * asin(sqrt(sin(radians(o.x - q.x) / 2) * sin(radians(o.x - q.x) / 2)
        + cos(radians(o.x)) * cos(radians(q.x)) * sin(radians(o.z - q.z) / 2) * sin(radians(o.z - q.z) / 2)))""",
    "haversine by atan2": f"6371 * 2 * atan2(sqrt({HALF_CHORD}), sqrt(1 - ({HALF_CHORD})))",
    "at most half the globe": f"12742 * asin(least(1, sqrt({HALF_CHORD})))",
    "law of cosines": """6371 * acos(sin(radians(o.x)) * sin(radians(q.x))
        + cos(radians(o.x)) * cos(radians(q.x)) * cos(radians(o.z - q.z)))""",
    "flat": "111.2 * sqrt(pow(o.x - q.x, 2) + pow((o.z - q.z) * cos(radians((o.x + q.x) / 2)), 2))",
}
FUNCTIONS = {
    "sine": "sin(o.x)",
    "cosine": "cos(o.x)",
    "tangent": "tan(o.x)",
    "sine of a sine": "sin(sin(o.x) * 3 - cos(o.z))",
    "quotient": "sin(o.x) / -3",
    "negative": "-abs(sin(o.x)) + greatest(cos(o.x), o.z, q.x)",
    "power": "power(cos(o.x), o.z) + atan(tan(o.x)) - degrees(acos(cos(o.x)))",
}


@pytest.fixture(scope="module")
def analyzer(spark: SparkSession) -> Analyzer:
    schema = StructType.fromDDL(COLUMNS)
    return Analyzer(spark, [AnalyzedStream("o", schema, "ts"), AnalyzedStream("q", schema, "ts")])


@pytest.fixture(scope="module")
def numbers(spark: SparkSession) -> dict[str, pa.Table]:
    """Columns of both streams, and Spark's value of every expression; places on the globe for the distances."""
    generator = np.random.default_rng(SEED)
    values = hard_doubles(4000, SEED)
    others = [values, *(generator.permutation(values) for _ in range(2))]
    free = [pa.array(array, mask=generator.random(len(array)) < 0.02) for array in others]
    return {
        **in_spark(spark, FUNCTIONS, dict(zip(("o.x", "o.z", "q.x"), free, strict=True))),
        **in_spark(spark, DISTANCES, places(20_000)),
    }


def places(count: int) -> dict[str, pa.Array]:
    """Pairs of places: anywhere, close together, the same, opposite, at the poles and at the date line."""
    generator = np.random.default_rng(SEED)
    latitude, longitude = generator.uniform(-90, 90, count), generator.uniform(-180, 180, count)
    latitude[::50], longitude[::40] = generator.choice([-90.0, 90.0, 0.0]), generator.choice([-180.0, 180.0, 0.0])
    near = 10.0 ** generator.uniform(-8, 2, count)
    other = np.clip(latitude + near * generator.uniform(-1, 1, count), -90, 90)
    across = longitude + near * generator.uniform(-1, 1, count)
    other[::7], across[::14] = latitude[::7], longitude[::14]
    other[::29], across[::29] = -latitude[::29], longitude[::29] - 180
    columns = {"o.x": latitude, "o.z": longitude, "q.x": other, "q.z": across}
    return {name: pa.array(column, mask=generator.random(count) < 0.01) for name, column in columns.items()}


def in_spark(spark: SparkSession, texts: dict[str, str], columns: dict[str, pa.Array]) -> dict[str, pa.Table]:
    frame = spark.createDataFrame(pa.table({name.replace(".", "_"): array for name, array in columns.items()}))
    flat = {name: text.replace("o.", "o_").replace("q.", "q_") for name, text in texts.items()}
    found = frame.selectExpr(*columns_of(frame.columns), *(f"{text} AS `{name}`" for name, text in flat.items()))
    table = found.toArrow()
    inputs = {name.replace("_", ".", 1): table[name] for name in frame.columns}
    return {name: pa.table({**inputs, "q.y": table[name]}) for name in texts}


def columns_of(names: list[str]) -> list[str]:
    return [f"`{name}`" for name in names]


def may_be_true(analyzer: Analyzer, predicate: str, table: pa.Table) -> np.ndarray:
    (conjunct,) = analyzer.predicate(predicate)
    assert conjunct.expression is None
    assert conjunct.possible is not None, predicate
    vectors = {name: to_vector(table[name], "double") for name in table.column_names}
    return is_true(PossibleEvaluator(conjunct.possible)(vectors.__getitem__))


@pytest.mark.parametrize("name", [*FUNCTIONS, *DISTANCES])
def test_the_interval_has_the_value_of_the_jvm_and_excludes_most_others(
    analyzer: Analyzer, numbers: dict[str, pa.Table], name: str
) -> None:
    table, text = numbers[name], {**FUNCTIONS, **DISTANCES}[name]
    known = table["q.y"].is_valid().to_numpy()
    for comparison in ("=", "<=", ">="):
        missed = known & ~may_be_true(analyzer, f"{text} {comparison} q.y", table)
        assert not missed.any(), (comparison, table.filter(pa.array(missed)).slice(0, 3).to_pylist())
    for comparison in ("<>", "<", ">"):
        missed = known & ~may_be_true(analyzer, f"NOT ({text} {comparison} q.y)", table)
        assert not missed.any(), (comparison, table.filter(pa.array(missed)).slice(0, 3).to_pylist())
    # Nothing is known of arguments beyond a limit, and little of places that are opposite or, by cosines, close.
    value = table["q.y"].fill_null(np.nan).to_numpy()
    ordinary = (np.abs(value) > 1e-2) & (np.abs(value) < 1e9) & (np.abs(table["o.x"].fill_null(0).to_numpy()) < 1000)
    further = np.where(ordinary, value + np.abs(np.where(ordinary, value, 0)) * 1e-3, np.nan)
    moved = table.set_column(table.column_names.index("q.y"), "q.y", pa.array(further))
    assert may_be_true(analyzer, f"{text} >= q.y", moved)[ordinary].mean() < 0.35
    assert ordinary.sum() > 1000


def test_null_numbers_match_nothing(analyzer: Analyzer) -> None:
    nothing = pa.table({name: pa.array([None, 1.0], pa.float64()) for name in ("o.x", "q.y")})
    assert may_be_true(analyzer, "sin(o.x) < q.y", nothing).tolist() == [False, True]
    assert may_be_true(analyzer, "NOT (sin(o.x) < q.y)", nothing).tolist() == [False, False]
