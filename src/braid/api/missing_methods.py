"""Methods of Spark that Braid has under another name, or not at all: errors with a hint."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import NoReturn

from braid.errors import MissingMethodError, QueryError

_BEFORE = "Do it to the DataFrame before braid.stream, or to the results: .batch() and foreachBatch give DataFrames."
_RUN = "Static inputs: .batch() gives a DataFrame. Streaming ones: .writeStream ... .start()."
_INNER = (
    "Braid's joins are inner joins. Rows without a partner are found by a left anti join of an input with the "
    "results, once the windows have passed."
)
_LATENESS = 'Say how late rows may come with braid.stream(..., lateness="5 seconds").'
_TABLE = 'Use .foreachBatch(lambda rows, step: rows.write.mode("append").saveAsTable("...")), or .format("delta").'
_PARTITIONED = "Parquet results are in one flat directory. Use foreachBatch with rows.write.partitionBy(...)."

STREAM = {
    "join": "Join streams with braid.join(a, b).on(...).",
    "crossJoin": "Join streams with braid.join(a, b); without .on that is every pair in the windows.",
    "withWatermark": _LATENESS,
    **dict.fromkeys(("where", "filter", "select", "withColumn", "drop", "alias", "groupBy"), _BEFORE),
    **dict.fromkeys(("show", "collect", "writeStream", "write"), "Join it first: braid.join(a, b)."),
}
JOIN = {
    "join": "braid.join takes all streams at once: braid.join(a, b, c).",
    "crossJoin": "A join without .on is every pair in the windows.",
    **dict.fromkeys(("how", "leftJoin", "outer", "left", "right"), _INNER),
    "withWatermark": _LATENESS,
    "toTable": _TABLE,
    "partitionBy": _PARTITIONED,
    **dict.fromkeys(("orderBy", "sort"), "Results are emitted in order of result_time with .ordered()."),
    **dict.fromkeys(("withColumn", "selectExpr", "drop", "alias"), "Name the columns of the result with .select(...)."),
    "agg": 'Without groups, write .groupBy().agg("count(*) AS n").',
    "dropDuplicates": "Use .select(...).distinct().",
    **dict.fromkeys(("show", "collect", "count", "toPandas", "write", "start", "cache", "take", "first"), _RUN),
    **dict.fromkeys(("limit", "union", "having", "filterWhere", "sample"), _BEFORE),
}
GROUPED = {
    **{name: f'Write it as an aggregate: .agg("{name}(o.x) AS y").' for name in ("sum", "avg", "min", "max")},
    "count": 'Write it as an aggregate: .agg("count(*) AS n").',
    "mean": 'Write it as an aggregate: .agg("avg(o.x) AS y").',
    "pivot": "Use aggregates of CASE WHEN ... THEN x END.",
}
WRITER = {
    "toTable": _TABLE,
    **dict.fromkeys(("saveAsTable", "save"), _TABLE),
    **dict.fromkeys(("partitionBy", "clusterBy", "bucketBy"), _PARTITIONED),
    "foreach": "Use .foreachBatch(function): it receives a step's results as a DataFrame.",
    "mode": 'Use .outputMode("append"), or "update" for aggregations; each is the default where it fits.',
}
RUN = {
    "processAllAvailable": "Start with .trigger(availableNow=True), then call .awaitTermination().",
    "awaitAnyTermination": "Call .awaitTermination() of each run.",
    "terminate": "Call .stop().",
}


def refuse_attribute(owner: object, name: str, hints: Mapping[str, str]) -> NoReturn:
    """For `__getattr__`: an AttributeError that suggests the right method."""
    kind = type(owner).__name__
    if name.startswith("_"):
        raise AttributeError(f"{kind} has no attribute {name}", name=name, obj=owner)
    hint = hints.get(name)
    if hint is None:
        close = difflib.get_close_matches(name, [known for known in dir(type(owner)) if not known.startswith("_")], n=1)
        hint = f"Did you mean .{close[0]}?" if close else ""
    raise MissingMethodError(f"{kind} has no attribute {name!r}.", hint=hint)


def refuse_arguments(call: str, named: Mapping[str, object]) -> None:
    """Raise for keyword arguments that Spark's method has and Braid's has not."""
    for name in named:
        hint = {
            "how": _INNER,
            "on": 'Give the predicate with .on: braid.join(a, b).on("a.id = b.id").',
            "window": 'A window belongs to a stream: braid.stream("o", df, time="ts", window="10 minutes").',
        }.get(name, "Leave it out.")
        raise QueryError(f"{call} has no argument {name!r}.", hint=hint)
