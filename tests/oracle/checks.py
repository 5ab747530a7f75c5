"""One case checked: Braid's answers against the oracles, with a message that lets anyone repeat it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from braid.errors import BraidError
from tests.oracle.answer import Answer, answers, difference, oracle_frame, to_frame
from tests.oracle.cases import Case, Input, Query, random_case, recut
from tests.oracle.duck import duck_ids
from tests.oracle.lateness import lateness_of, on_time_rows, timed_rows
from tests.oracle.running import build, code_of, run_to_end, streaming_frames, with_strategy

# Those that a case is run with again, one by each seed.
OTHERS = (
    "Biclique(units=3, shape='tree')",
    "TimeSliced(units=3, interleave=3)",
    "CoordinatedRouting(2)",
    "TimeSliced(units=3, slices=5, interleave=2, slicing='count', adapt='aggressive')",
    "AlignedRouting('5 seconds', units=3)",
)


@dataclass(frozen=True)
class Checked:
    """What a check looked at."""

    queries: int
    results: int
    empty: int


class Difference(AssertionError):
    """Two answers differ, or one of them could not be had."""

    def __init__(self, case: Case, query: Query, what: str) -> None:
        super().__init__(f"seed {case.seed}: {what}\n{code_of(case, query)}")
        self.case = case
        self.query = query


def check_static(spark: SparkSession, seed: int, queries: int) -> Checked:
    """`.batch()` of several queries over the same rows."""
    # Spark prunes cached rows by minimum and maximum, which leave NaN out: `x = NaN` would find nothing.
    spark.conf.set("spark.sql.inMemoryColumnarStorage.partitionPruning", "false")
    case = random_case(seed, queries)
    case = replace(case, queries=_understood(spark, case))
    rows = {entry.name: timed_rows(entry) for entry in case.inputs}
    timed = {name: to_frame(spark, table).cache() for name, table in rows.items()}
    whole = {entry.name: to_frame(spark, entry.rows) for entry in case.inputs}
    try:
        expected = answers([oracle_frame(case, query, timed) for query in case.queries])
        got = answers([_batch(case, query, whole, timed) for query in case.queries])
    finally:
        for frame in timed.values():
            frame.unpersist()
    for query, right, found in zip(case.queries, expected, got, strict=True):
        _require_equal(case, query, right, found, "the static answer differs from Spark's cross join")
        if query.portable:
            _ask_duck(case, query, rows, right)
    return _checked(got)


def check_streaming(spark: SparkSession, seed: int, directory: Path) -> Checked:
    """A streaming run, and a second one with another strategy and order of streams, against Spark's cross join."""
    case = random_case(seed, 8, "streaming")
    query, expected = _most_telling(spark, case)
    case = case.only(query)
    first = _run(spark, case, query, case.inputs, directory / "first")
    _require_equal(case, query, expected, first, "the streaming answer differs from Spark's cross join")
    order = list(range(len(case.inputs)))[::-1]
    chosen = [strategy for strategy in OTHERS if strategy.split("(")[0] not in query.strategy]
    other = replace(query, strategy=chosen[seed % len(chosen)])
    second = _run(spark, case, other, case.inputs, directory / "second", order)
    _require_equal(case, other, expected, second, f"another strategy and order {order} of streams changed the answer")
    return _checked([first, second])


def check_recut(spark: SparkSession, seed: int, directory: Path) -> Checked:
    """Without a lateness limit the answer does not depend on how the input was cut into batches."""
    case = random_case(seed, 8, "streaming")
    query = replace(_most_telling(spark, case)[0], latenesses=("unbounded",) * len(case.inputs))
    case = case.only(query)
    expected = _expected(spark, case, query, [timed_rows(entry) for entry in case.inputs])
    found = _run(spark, case, query, recut(case.inputs, seed), directory / "recut")
    _require_equal(case, query, expected, found, "the answer depends on the cut into batches")
    return _checked([found])


def _understood(spark: SparkSession, case: Case) -> tuple[Query, ...]:
    """The queries Spark can analyse: the generator writes a few that have no type."""
    frames = {entry.name: spark.createDataFrame(entry.rows.slice(0, 0)) for entry in case.inputs}
    kept = []
    for query in case.queries:
        try:
            oracle_frame(case, query, frames).schema  # noqa: B018 (the analysis is what is asked for)
        except AnalysisException:
            continue
        kept.append(query)
    return tuple(kept)


def _batch(case: Case, query: Query, frames: dict[str, DataFrame], timed: dict[str, DataFrame]) -> DataFrame:
    try:
        found = with_strategy(build(case, query, frames), query.strategy).batch()
    except BraidError as error:
        raise Difference(case, query, f"Spark answers, Braid raises {type(error).__name__}: {error}") from error
    _require_columns(case, query, oracle_frame(case, query, timed), found)
    return found


def _run(
    spark: SparkSession,
    case: Case,
    query: Query,
    inputs: Sequence[Input],
    directory: Path,
    order: Sequence[int] | None = None,
) -> Answer:
    frames = streaming_frames(spark, inputs, directory / "input")
    try:
        join = with_strategy(build(case, query, frames, order), query.strategy)
        output = run_to_end(join, directory)
    except BraidError as error:
        raise Difference(case, query, f"Spark answers, Braid raises {type(error).__name__}: {error}") from error
    frame = spark.read.parquet(str(output))
    if order is not None and not query.selection:
        frame = frame.select([entry.name for entry in case.inputs] + ["result_time"])
    return answers([frame])[0]


def _most_telling(spark: SparkSession, case: Case) -> tuple[Query, Answer]:
    """A query with results, if there is one, and its answer under the lateness rule."""
    queries = _understood(spark, case)
    frames = []
    for query in queries:
        rows = [on_time_rows(entry, lateness_of(query, number)) for number, entry in enumerate(case.inputs)]
        frames.append(_oracle(spark, case, query, rows))
    found = list(zip(queries, answers(frames), strict=True))
    return next(((query, answer) for query, answer in found if answer), found[0])


def _expected(spark: SparkSession, case: Case, query: Query, rows: Sequence[pa.Table]) -> Answer:
    return answers([_oracle(spark, case, query, rows)])[0]


def _oracle(spark: SparkSession, case: Case, query: Query, rows: Sequence[pa.Table]) -> DataFrame:
    names = [entry.name for entry in case.inputs]
    frames = {name: to_frame(spark, table) for name, table in zip(names, rows, strict=True)}
    return oracle_frame(case, query, frames)


def _require_equal(case: Case, query: Query, expected: Answer, got: Answer, what: str) -> None:
    found = difference(expected, got)
    if found:
        raise Difference(case, query, f"{what}\n{found}")


def _require_columns(case: Case, query: Query, expected: DataFrame, got: DataFrame) -> None:
    wanted = [(field.name, field.dataType.simpleString()) for field in expected.schema]
    found = [(field.name, field.dataType.simpleString()) for field in got.schema]
    if wanted != found:
        raise Difference(case, query, f"the columns are {found}, but Spark's are {wanted}")


def _ask_duck(case: Case, query: Query, rows: dict[str, pa.Table], expected: Answer) -> None:
    """DuckDB must count as many results."""
    found = duck_ids(case, query, rows)
    if found.total() != expected.total():
        raise Difference(case, query, f"DuckDB finds {found.total()} results, Spark and Braid {expected.total()}")


def _checked(found: Sequence[Answer]) -> Checked:
    sizes = Counter(answer.total() for answer in found)
    return Checked(len(found), sum(size * count for size, count in sizes.items()), sizes[0])
