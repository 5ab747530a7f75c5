"""How a reader finds the newest row of a group: by a step column in files, in `memory` by the table itself."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from braid.errors import SinkError
from braid.plan.aggregation import Aggregation

STEP_COLUMN = "_step"
FILE_FORMATS = ("parquet", "orc", "avro", "json", "csv", "xml", "delta")
"""The file formats that keep every update; not `text`, which has one column only."""
WITHOUT_COLUMN = ("foreachbatch", "memory", "console", "noop")


def choose_step_column(
    kind: str, given: str | None, schema: StructType, aggregation: Aggregation | None, case_sensitive: bool
) -> str | None:
    """The column with the step of each result: by default in the files of aggregations, else where it is named.

    Raises SinkError if it would have no effect, or has the name of a selected column.
    """
    aggregates = aggregation is not None and not aggregation.is_distinct
    if given and not aggregates:
        raise SinkError(
            f"The option stepColumn is {given!r}, but this query has no aggregation: its results never change, so "
            "there is no newest row to find.",
            hint="Leave the option out.",
        )
    if given and kind in WITHOUT_COLUMN:
        raise SinkError(
            f"The option stepColumn is {given!r}, but {_name(kind)} writes no files.",
            hint="Leave the option out: foreachBatch has the step as batch_id, memory holds the latest rows only.",
        )
    if not aggregates or kind in WITHOUT_COLUMN or given == "" or (given is None and kind not in FILE_FORMATS):
        return None
    column = STEP_COLUMN if given is None else given
    taken = [name for name in schema.fieldNames() if _same(name, column, case_sensitive)]
    if taken:
        raise SinkError(
            f"The files of an aggregation have a column {column!r} with the step of each row, and the column "
            f"{taken[0]!r} has this name.",
            hint='Rename one of them: .option("stepColumn", "...") renames that of the step, "" drops it.',
        )
    return column


def hidden_step_column(schema: StructType) -> str:
    """A name for the step that no column has, also if case is ignored."""
    taken, column = {name.lower() for name in schema.fieldNames()}, "#step"
    while column in taken:
        column += "#"
    return column


def latest_of_groups(updates: DataFrame, groups: int, ordered: bool) -> DataFrame:
    """The newest row of each group; the last column of `updates` is the step, the first ones make the group.

    In order a group may change several times in a step: then the result time, the column before it, decides.
    """
    names = updates.columns
    plain = [f"c{number}" for number in range(len(names))]
    keys, values, step = plain[:groups], plain[groups:-1], plain[-1]
    newest = sf.struct(step, values[-1]) if ordered else sf.col(step)
    found = updates.toDF(*plain).groupBy(*keys).agg(sf.max_by(sf.struct(*values), newest).alias("latest"))
    # Without groups Spark returns one row of NULLs if there is no update yet.
    known = found.filter(sf.col("latest").isNotNull())
    return known.select(*keys, *(sf.col(f"latest.{value}") for value in values)).toDF(*names[:-1])


def _same(first: str, second: str, case_sensitive: bool) -> bool:
    return first == second if case_sensitive else first.lower() == second.lower()


def _name(kind: str) -> str:
    return "foreachBatch" if kind == "foreachbatch" else f"the format {kind!r}"
