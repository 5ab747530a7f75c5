"""Braid: windowed joins of streams with any predicate, on Spark, exactly once."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from braid.errors import BraidError

if TYPE_CHECKING:
    from braid.api.join import Join, join
    from braid.api.run import Run
    from braid.api.stream import Stream, stream
    from braid.api.totals import totals
    from braid.api.udf import udf
    from braid.api.windows import rows, unbounded
    from braid.api.writer import Writer
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

# Names are loaded when they are first used. Every Python worker of Spark imports this package for the engine alone, and
# loading the API and the analyzer too took it half of its CPU time until its first row.
_HOMES = {
    "braid.api.join": ("Join", "join"),
    "braid.api.run": ("Run",),
    "braid.api.stream": ("Stream", "stream"),
    "braid.api.totals": ("totals",),
    "braid.api.udf": ("udf",),
    "braid.api.windows": ("rows", "unbounded"),
    "braid.api.writer": ("Writer",),
    "braid.optimizer.semijoins.network": ("Link", "Network"),
    "braid.optimizer.strategies": (
        "AlignedRouting",
        "Auto",
        "Biclique",
        "CoordinatedRouting",
        "Matrix",
        "Partitioned",
        "Semijoin",
        "TimeSliced",
    ),
    "braid.plan.site_names": ("Site",),
}


def __getattr__(name: str) -> Any:
    home = next((module for module, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=import_module(__name__))
    found = globals()[name] = getattr(import_module(home), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
