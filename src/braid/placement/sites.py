"""Units at sites: where the rows of streams that arise at distant sites are stored and looked up.

A site has a unit on each of its slots if all streams share a key, else on one of them. The rows of a stream are at its
own site; other sites may have copies. All rows and copies at a site that have the same key are at the same unit, so
rows that came to it look up nothing elsewhere, and a row crosses a link once, however many slots the other site has.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from braid.kernels.keys import Keys, buckets
from braid.plan.join import JoinPlan
from braid.plan.layout import Layout
from braid.plan.once_per_plan import once_per_plan

Numbers = npt.NDArray[np.int64]


def slots_of_sites(layout: Layout) -> tuple[int, ...]:
    """The slot of each unit, to be taken modulo the number of slots."""
    return tuple(slot for site in layout.sites for slot in site.slots)


@lru_cache(maxsize=64)
def units_of_site(layout: Layout, site: int) -> range:
    """The numbers of a site's units."""
    first = sum(len(other.slots) for other in layout.sites[:site])
    return range(first, first + len(layout.sites[site].slots))


def site_of(layout: Layout, unit: int) -> int:
    """The site of a unit."""
    return next(number for number in range(len(layout.sites)) if unit in units_of_site(layout, number))


def streams_of_site(layout: Layout, site: int) -> tuple[int, ...]:
    """The streams whose rows are stored at a site."""
    return tuple(stream for stream, home in enumerate(layout.homes) if home == site)


def stored_plan(plan: JoinPlan, layout: Layout) -> JoinPlan:
    """The plan by which rows are stored under a layout: between sites with the step that they arrived in."""
    return _stamped(plan) if layout.kind == "sites" else plan


@once_per_plan
def _stamped(plan: JoinPlan) -> JoinPlan:
    return replace(plan, stamped=True)


def units_at(layout: Layout, site: int, keys: Keys | None, rows: int) -> Numbers:
    """The unit at a site of each row; `keys` are those that all streams share."""
    units = units_of_site(layout, site)
    if len(units) == 1:
        return np.full(rows, units.start)
    if keys is None:
        raise ValueError("a site with several units places rows by a key, which was not given")
    return units.start + buckets(keys, len(units))
