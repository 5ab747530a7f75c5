"""The blocks that a worker process has open, shared by the tasks it runs."""

from __future__ import annotations

from collections import OrderedDict

from braid.engine.locations import Locations
from braid.engine.tasks.segments import SegmentStore
from braid.engine.tasks.worker.allowance import current
from braid.plan.join import JoinPlan
from braid.state.cache import LocalCopies, copies_directory

# A worker serves few runs at once, each with at most four kinds of stores, and one for each site in one process.
OPEN_STORES = 8

_open_stores: OrderedDict[str, SegmentStore] = OrderedDict()


def segment_store(plan: JoinPlan, locations: Locations, kind: str, site: str | None = None) -> SegmentStore:
    """This worker's open blocks of a run and a kind of job; stores not used for long are closed.

    Those of a site may be in its own storage.
    """
    place = f"{locations.checkpoint} {kind} {site or ''}"
    store = _open_stores.pop(place, None)
    if store is None:
        files, blocks = locations.open_blocks(site)
        store = SegmentStore(plan, LocalCopies(files, copies_directory()), blocks)
    # A run has one plan, of which every Spark task gets a copy: the first is kept, with all that is computed for it.
    if store.plan.tree != plan.tree:
        store.plan = plan
    allowance = current()
    copied = None if locations.memory is None else locations.memory.cache_bytes
    store.allow(None if allowance is None else allowance.kept, copied)
    if allowance is not None:
        # What a worker keeps open is that of its current kind of job.
        for other in _open_stores.values():
            other.allow(0, copied)
    _open_stores[place] = store
    while len(_open_stores) > OPEN_STORES:
        _open_stores.popitem(last=False)
    return store
