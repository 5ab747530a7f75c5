"""Sites as the user describes them."""

from __future__ import annotations

import pickle

import pytest

from braid.errors import StrategyError
from braid.plan.site_names import Site, distinct_sites, site_of


def test_a_site_is_a_name_or_more() -> None:
    full = Site("eu", hosts=["a", "b"], storage="s3://eu/state")
    assert (full.name, full.hosts, full.storage) == ("eu", ("a", "b"), "s3://eu/state")
    assert site_of("eu") == Site("eu")
    assert site_of(full) is full
    assert pickle.loads(pickle.dumps(full)) == full
    assert hash(full) == hash(Site("eu", ("a", "b"), "s3://eu/state"))


def test_the_sites_of_a_query_are_listed_once_by_name() -> None:
    eu, us = Site("eu", ["a"]), Site("us", ["b"])
    assert distinct_sites([us, eu, Site("us", ["b"])]) == (eu, us)


def test_two_descriptions_of_one_site_are_refused() -> None:
    with pytest.raises(StrategyError, match="described in two ways"):
        distinct_sites([Site("eu", ["a"]), Site("eu")])


def test_a_host_belongs_to_one_site() -> None:
    with pytest.raises(StrategyError, match="The host a belongs to two sites: eu and us"):
        distinct_sites([Site("eu", ["a"]), Site("us", ["a"])])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("",), "must have a name"),
        ((None,), "must have a name"),
        (("eu", "host1"), "must be a list of host names"),
        (("eu", [1]), "must be a list of host names"),
        (("eu", [" "]), "must be a list of host names"),
        (("eu", None), "must be a list of host names"),
        (("eu", ["a", "a"]), "repeat"),
        (("eu", [], 3), "must be a path"),
        (("eu", [], " "), "must be a path"),
    ],
)
def test_another_site_is_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(StrategyError, match=message) as refused:
        Site(*arguments)  # type: ignore[arg-type]  # wrong types are what is tested
    assert refused.value.hint
