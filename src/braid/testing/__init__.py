"""A kit to test joins without a cluster: write a logical plan, script batches, interrupt runs, compare with the oracle.

draft = Draft()
r = draft.stream("r", {"k": "int"}, window_us=10)
s = draft.stream("s", {"k": "int"}, window_us=10)
draft.on(equal(r["k"], s["k"]))
query = InlineQuery(draft.logical_plan(), directory)
query.run(0, {"r": table, "s": table})
query.published()
"""

from braid.testing.clock import ManualClock
from braid.testing.drafts import Draft, DraftStream
from braid.testing.expressions import (
    absolute,
    add,
    both,
    coalesce,
    constant,
    either,
    equal,
    equal_or_both_null,
    less,
    less_or_equal,
    negation,
    subtract,
    within,
)
from braid.testing.failing import FailingFiles, InjectedCrash
from braid.testing.inline import Fate, InlineCluster
from braid.testing.inline_query import InlineQuery
from braid.testing.interleaving import InterleavedFiles, Turns
from braid.testing.oracle import Condition, OracleStream, answer, on_time_rows

__all__ = [
    "Condition",
    "Draft",
    "DraftStream",
    "FailingFiles",
    "Fate",
    "InjectedCrash",
    "InlineCluster",
    "InlineQuery",
    "InterleavedFiles",
    "ManualClock",
    "OracleStream",
    "Turns",
    "absolute",
    "add",
    "answer",
    "both",
    "coalesce",
    "constant",
    "either",
    "equal",
    "equal_or_both_null",
    "less",
    "less_or_equal",
    "negation",
    "on_time_rows",
    "subtract",
    "within",
]
