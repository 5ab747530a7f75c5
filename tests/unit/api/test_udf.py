"""`braid.udf`: what is promised of a function is kept, and refused where it makes no sense."""

from __future__ import annotations

import math
from typing import Any

import pytest

from braid import udf
from braid.errors import QueryError


def near(*_: object) -> None:
    return None


def test_a_function_may_raise_unless_it_is_promised_not_to() -> None:
    assert udf(near, "a.x", "b.x").raises
    promised = udf(near, "a.x", "b.x", raises=False, selectivity=0.01, cost=5e-5)
    assert (promised.raises, promised.selectivity, promised.cost) == (False, 0.01, 5e-5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"selectivity": 1.5}, "from 0 to 1, but got 1.5"),
        ({"selectivity": -0.1}, "from 0 to 1"),
        ({"selectivity": True}, "from 0 to 1"),
        ({"selectivity": math.nan}, "from 0 to 1"),
        ({"cost": -1.0}, "in seconds"),
        ({"cost": math.inf}, "in seconds"),
        ({"cost": "50 µs"}, "in seconds, such as 5e-5, but got '50 µs'"),
        ({"raises": "no"}, "True or False, but got 'no'"),
    ],
)
def test_promises_that_make_no_sense_are_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(QueryError, match=said):
        udf(near, "a.x", "b.x", **given)
