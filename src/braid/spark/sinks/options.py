"""The options of a writer that are Braid's own, in one table, and the errors for misspelt ones.

Options of Spark's formats are passed to them. Only names close to one of Braid's are refused there, since Spark ignores
options it does not know.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass

from braid.errors import SinkError

EVERYWHERE = ("parquet", "memory", "console", "noop", "foreachbatch")
OWN_FORMATS = frozenset(EVERYWHERE)
# Options of Spark with names close to one of Braid's, but with another meaning.
NO_MISSPELLING = frozenset({"paths"})
CLOSE = 0.8


@dataclass(frozen=True)
class Option:
    """An option by its name; `formats` are those of Braid's own in which it has a meaning."""

    name: str
    meaning: str
    formats: tuple[str, ...] = EVERYWHERE

    @property
    def general(self) -> bool:
        """Whether Braid reads it, not a format."""
        return self.formats == EVERYWHERE


OPTIONS = (
    Option("path", "where the files of results are written"),
    Option("checkpointLocation", "where the query keeps its state, and continues after a restart"),
    Option("retention", "how long late rows are kept; 7 days unless given"),
    Option(
        "endOfInput", "'flush' emits all that waits for its order at the end of an availableNow run, 'wait' keeps it"
    ),
    Option("stepColumn", "the column of an aggregation's files that holds the step; empty for none"),
    Option("sharedPath", "true lets several queries write to one path"),
    Option("acceptChangedFunctions", "true lets a query continue with a changed Python function"),
    Option(
        "exchange",
        "how rows reach their slots: 'files', 'shuffle', or 'auto', which is a shuffle where the checkpoint is on an "
        "object store",
    ),
    Option("compression", "how Parquet files are compressed", ("parquet",)),
    Option("numRows", "how many rows of a step the console shows", ("console",)),
    Option("truncate", "whether, or at how many characters, the console cuts values", ("console",)),
)
GENERAL = frozenset(option.name.lower() for option in OPTIONS if option.general)


def check_options(kind: str, given: Iterable[str]) -> None:
    """Raise SinkError for an option that would be ignored: misspelt, or of another format."""
    known = [option.name for option in OPTIONS if kind not in OWN_FORMATS or kind in option.formats]
    for name in given:
        if kind in OWN_FORMATS and name.lower() not in {option.lower() for option in known}:
            raise SinkError(
                f"The option {name!r} is not one of {_format(kind)}.",
                detail=f"Its options: {', '.join(known)}.",
                hint=_closest(name, known) or "Leave it out: it would have no effect.",
            )
        if kind not in OWN_FORMATS and name.lower() not in GENERAL | NO_MISSPELLING:
            meant = _closest(name, [option.name for option in OPTIONS if option.general])
            if meant:
                raise SinkError(f"The option {name!r} looks like a misspelt option of Braid's.", hint=meant)


def _closest(name: str, known: Iterable[str]) -> str:
    by_lower = {option.lower(): option for option in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=CLOSE)
    return f"Did you mean {by_lower[close[0]]!r}?" if close else ""


def _format(kind: str) -> str:
    return "foreachBatch" if kind == "foreachbatch" else f"the format {kind!r}"
