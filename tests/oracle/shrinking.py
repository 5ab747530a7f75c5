"""A difference made small: the row combination that is wrong, alone, if that still shows it."""

from __future__ import annotations

import json
from dataclasses import replace

import pyarrow.compute as pc
from pyspark.sql import SparkSession

from braid.errors import BraidError
from tests.oracle.answer import Answer, answers, oracle_frame, to_frame
from tests.oracle.cases import Case, Query
from tests.oracle.lateness import timed_rows
from tests.oracle.running import build, with_strategy


def shrink(spark: SparkSession, case: Case, query: Query) -> str:
    """The rows of one wrong combination, and whether they are enough to show the difference."""
    ids = replace(query, selection=tuple(f"{entry.name}.id AS {entry.name}" for entry in case.inputs))
    try:
        expected, got = _both(spark, case, ids)
    except BraidError as error:
        return f"Not made smaller: with only the ids selected Braid raises {error.message}"
    wrong = [*(expected - got), *(got - expected)]
    if not wrong:
        return "Not made smaller: as a static join with only the ids selected, the answers are equal."
    chosen = json.loads(min(wrong))
    inputs = tuple(
        replace(entry, batches=(), rows=entry.rows.filter(pc.equal(entry.rows.column("id"), chosen[entry.name])))
        for entry in case.inputs
    )
    small = replace(case, inputs=inputs)
    alone, found = _both(spark, small, ids)
    verdict = "these rows alone show it" if alone != found else "only together with others"
    rows = [f"  {entry.name}: {entry.rows.to_pylist()[0]}" for entry in inputs]
    return "\n".join([f"{len(wrong)} combinations are wrong; one of them, {verdict}:", *rows])


def _both(spark: SparkSession, case: Case, query: Query) -> tuple[Answer, Answer]:
    timed = {entry.name: to_frame(spark, timed_rows(entry)) for entry in case.inputs}
    whole = {entry.name: to_frame(spark, entry.rows) for entry in case.inputs}
    found = with_strategy(build(case, query, whole), query.strategy).batch()
    expected, got = answers([oracle_frame(case, query, timed), found])
    return expected, got
