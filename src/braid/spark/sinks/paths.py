"""Which query's results a path contains: those of one query, unless its user allows several.

The first query that writes to a path creates a record there, only if absent, so of two that start at once on an empty
path one is refused. File names also contain the query's id.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from braid.engine.sinks import parse_published
from braid.errors import SinkError
from braid.state.files import Files
from braid.state.records import read_record, write_record

OWNER = "_braid_owner.json"
NAMED = 3
EMPTY = re.compile(r"part-([0-9a-f]{8})\.parquet")


@dataclass(frozen=True)
class OutputPath:
    """A directory of Parquet files: `location` for messages, `path` on `files`. `shared`: others may write too."""

    files: Files
    path: str
    location: str
    checkpoint: str
    shared: bool

    def require_own(self, query: str) -> None:
        """Refuse a path with anything visible to readers that is not this query's; writes nothing."""
        if self.shared:
            return
        owner = self._owner()
        visible = [name for name in self.files.list(self.path) if not name.startswith(("_", "."))]
        found = {name: _query_of(name) for name in visible if not self._holds_checkpoint(name)}
        others = {other for other in found.values() if other is not None} - {query[:8]}
        if owner is not None and owner["query"] != query:
            others = (others - {owner["query"][:8]}) | {f"{owner['query'][:8]} (checkpoint {owner['checkpoint']})"}
        if others:
            raise self._refused(query, f"results of the query {', '.join(sorted(others))}")
        strangers = [name for name, other in found.items() if other is None]
        if strangers:
            more = f" and {len(strangers) - NAMED} more" if len(strangers) > NAMED else ""
            raise self._refused(query, f"files that are not Braid's: {', '.join(strangers[:NAMED])}{more}")

    def claim(self, query: str) -> None:
        """Claim the path for this query, before its first file is written."""
        self.require_own(query)
        content = {"query": query, "checkpoint": self.checkpoint}
        try:
            write_record(self.files, f"{self.path}/{OWNER}", content)
        except FileExistsError:
            self.require_own(query)

    def _owner(self) -> dict[str, Any] | None:
        path = f"{self.path}/{OWNER}"
        return read_record(self.files, path, "record of the path's query") if self.files.exists(path) else None

    def _holds_checkpoint(self, name: str) -> bool:
        return f"{self.checkpoint}/".startswith(f"{self.location}/{name}/")

    def _refused(self, query: str, what: str) -> SinkError:
        return SinkError(
            f"The path {self.location} holds {what}, and this is the query {query[:8]} (checkpoint {self.checkpoint}): "
            "a reader of the path would see both.",
            hint="Give another path, or delete this directory if it is not needed. If readers are to see both "
            "together, set the option sharedPath to true.",
        )


def _query_of(name: str) -> str | None:
    """The id of the query that wrote a result file, or the empty file that has the columns."""
    published, empty = parse_published(name), EMPTY.fullmatch(name)
    if published is not None:
        return published.query
    return None if empty is None else empty[1]
