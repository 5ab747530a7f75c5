"""Braid: windowed joins of streams with any predicate, on Spark, exactly once."""

from braid.api.join import Join, join
from braid.api.run import Run
from braid.api.stream import Stream, stream
from braid.api.totals import totals
from braid.api.udf import udf
from braid.api.windows import rows, unbounded
from braid.api.writer import Writer
from braid.errors import BraidError
from braid.optimizer.semijoins.network import Link, Network
from braid.optimizer.strategies import (
    AlignedRouting,
    Auto,
    Biclique,
    CoordinatedRouting,
    Matrix,
    Partitioned,
    Semijoin,
    TimeSliced,
)
from braid.plan.site_names import Site

__version__ = "0.1.0"

__all__ = [
    "AlignedRouting",
    "Auto",
    "Biclique",
    "BraidError",
    "CoordinatedRouting",
    "Join",
    "Link",
    "Matrix",
    "Network",
    "Partitioned",
    "Run",
    "Semijoin",
    "Site",
    "Stream",
    "TimeSliced",
    "Writer",
    "join",
    "rows",
    "stream",
    "totals",
    "udf",
    "unbounded",
]
