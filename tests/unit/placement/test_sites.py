"""Units at sites: every row at its stream's own site, rows of one key at one unit of each site."""

from __future__ import annotations

import numpy as np
import pytest

from braid.placement.sites import site_of, slots_of_sites, streams_of_site, units_at, units_of_site
from braid.placement.units import is_primary, routes_stay_local, store_at, unit_count, units_by_slot, units_of
from braid.plan.layout import Layout, SiteSlots

# Streams 0 and 2 at the first site, stream 1 at the second.
KEYED = Layout(0, "sites", (5,), (1,), sites=(SiteSlots("a", (0, 1)), SiteSlots("b", (2, 3, 4))), homes=(0, 1, 0))
ALONE = Layout(0, "sites", (2,), (1,), sites=(SiteSlots("a", (0,)), SiteSlots("b", (3,))), homes=(0, 1))


def test_units_are_numbered_site_by_site() -> None:
    assert [list(units_of_site(KEYED, site)) for site in (0, 1)] == [[0, 1], [2, 3, 4]]
    assert [site_of(KEYED, unit) for unit in range(5)] == [0, 0, 1, 1, 1]
    assert slots_of_sites(KEYED) == (0, 1, 2, 3, 4)
    assert unit_count(KEYED) == 5
    assert [unit.streams for unit in units_of(KEYED, 3)] == [(0, 2), (0, 2), (1,), (1,), (1,)]
    assert streams_of_site(KEYED, 1) == (1,)


def test_fewer_slots_have_units_of_several_sites() -> None:
    found = [[unit.number for unit in own] for own in units_by_slot(KEYED, 3, 2)]
    assert found == [[0, 2, 4], [1, 3]]
    assert routes_stay_local(KEYED, 3, 2), "a row finds everything at the unit it came to"


def test_rows_are_stored_at_the_site_of_their_stream_by_key() -> None:
    keys = np.arange(1000)
    for stream, site in ((0, 0), (1, 1), (2, 0)):
        placed = store_at(KEYED, stream, keys, len(keys), 0)
        assert set(placed.units.tolist()) == set(units_of_site(KEYED, site))
        assert (placed.routes == placed.units).all()
        counts = np.bincount(placed.units, minlength=5)[list(units_of_site(KEYED, site))]
        assert counts.min() > 0.8 * counts.mean()
    assert (units_at(KEYED, 1, keys, len(keys)) == units_at(KEYED, 1, keys, len(keys))).all()


def test_without_a_key_a_site_has_one_unit() -> None:
    assert set(store_at(ALONE, 1, None, 10, 3).units.tolist()) == {1}
    with pytest.raises(ValueError, match="by a key"):
        units_at(KEYED, 0, None, 3)


def test_copies_are_not_primary() -> None:
    assert [is_primary(KEYED, 1, unit, unit) for unit in range(5)] == [False, False, True, True, True]
