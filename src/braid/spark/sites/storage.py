"""The proof that the tasks of a site reach its storage, and the same one: by the tasks themselves.

The driver may be elsewhere and reach none of it. Every slot writes a file in the first of two jobs; in the second it
looks for those of all slots of its site.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Literal

import pyarrow as pa
from pyspark.sql import DataFrame

from braid.engine.locations import Locations
from braid.errors import BraidError, StorageError
from braid.plan.layout import Layout
from braid.spark.slot_functions import read_anchor
from braid.spark.task_context import own_partition
from braid.spark.transport import map_batches, spark_schema
from braid.state.files import locate

ANSWER = pa.schema([("answer", pa.string())])
Part = Literal["write", "find", "remove"]


def prove_site_storage(anchor: DataFrame, layout: Layout, locations: Locations, slots: int) -> None:
    """Fail early if a site has storage that its tasks cannot use, or that is not the same for all of them."""
    stored = dict(locations.site_storage)
    if not stored:
        return
    sites = {site.name: sorted({slot % slots for slot in site.slots}) for site in layout.sites if site.name in stored}
    token = uuid.uuid4().hex
    problems: list[str] = []
    for part in ("write", "find", "remove"):
        rows = map_batches(anchor, _Proof(sites, stored, token, part), spark_schema(ANSWER)).collect()
        problems = problems or [row["answer"] for row in rows if row["answer"]]
    if problems:
        raise StorageError(
            "A site cannot use the storage that was given for it.",
            detail=problems[0],
            hint="Give braid.Site(storage=...) a directory or URL that all hosts of the site share.",
        )


class _Proof:
    """What a slot does in one of the jobs, for each site that it has a unit of."""

    def __init__(self, sites: dict[str, list[int]], stored: dict[str, str], token: str, part: Part) -> None:
        self._sites, self._stored, self._token, self._part = sites, stored, token, part

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        read_anchor(batches)
        slot = own_partition()
        answers = [self._answer(site, slot) for site, slots in self._sites.items() if slot in slots]
        yield pa.RecordBatch.from_pydict({"answer": pa.array([one or "" for one in answers], pa.string())})

    def _answer(self, site: str, slot: int) -> str | None:
        try:
            files, directory = locate(self._stored[site])
            if self._part == "write":
                files.write_new(self._file(directory, slot), b"")
            elif self._part == "find":
                missing = [other for other in self._sites[site] if not files.exists(self._file(directory, other))]
                if missing:
                    return f"Site {site}: slot {slot} does not see in {directory} what slot {missing[0]} wrote there."
            else:
                files.delete(self._file(directory, slot))
        except (OSError, BraidError) as error:
            return f"Site {site}: {error}"
        return None

    def _file(self, directory: str, slot: int) -> str:
        return f"{directory}/.probe-{self._token}-{slot}"
