"""Tables of partial tuples against plain dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from braid.kernels.semijoins.tuple_tables import Tuples, TupleTable, count_changes, distinct, is_among

Pair = tuple[int, int]
VALUES = st.integers(-3, 3) | st.sampled_from([2**63 - 1, -(2**63)])
PAIRS = st.lists(st.tuples(VALUES, VALUES), max_size=12)


def matrix(pairs: list[Pair]) -> Tuples:
    return np.array(pairs, np.int64).reshape(-1, 2)


def table(counts: dict[Pair, int]) -> TupleTable:
    empty = TupleTable.empty(2, ("count",))
    numbers = {"count": np.array(list(counts.values()), np.int64)}
    return empty.changed(matrix(list(counts)), numbers) if counts else empty


def content(found: TupleTable) -> dict[Pair, int]:
    pairs = [(int(a), int(b)) for a, b in found.tuples]
    assert pairs == sorted(set(pairs)), "tuples are distinct and sorted"
    return dict(zip(pairs, found.numbers["count"].tolist(), strict=True))


@given(PAIRS, PAIRS)
def test_membership_and_distinct_tuples(one: list[Pair], other: list[Pair]) -> None:
    assert is_among(matrix(one), matrix(other)).tolist() == [pair in other for pair in one]
    tuples, counts = distinct(matrix(one))
    assert dict(zip(map(tuple, tuples.tolist()), counts.tolist(), strict=True)) == Counter(one)


@given(st.dictionaries(st.tuples(VALUES, VALUES), st.integers(1, 9)), PAIRS, st.data())
def test_changes_are_those_of_a_dictionary(known: dict[Pair, int], asked: list[Pair], data: st.DataObject) -> None:
    changed = data.draw(st.dictionaries(st.tuples(VALUES, VALUES), st.integers(0, 9)))
    after = table(known)
    if changed:
        after = after.changed(matrix(list(changed)), {"count": np.array(list(changed.values()), np.int64)})
    assert content(after) == known | changed
    expected = [(known | changed).get(pair, -7) for pair in asked]
    assert after.numbers_of(matrix(asked), "count", default=-7).tolist() == expected
    kept = after.where(after.numbers["count"] > 4)
    assert content(kept) == {pair: count for pair, count in (known | changed).items() if count > 4}


@given(PAIRS, PAIRS, st.data())
def test_counts_change_by_what_arrives_and_departs(known: list[Pair], arrived: list[Pair], data: st.DataObject) -> None:
    """Only tuples whose count is another are listed; 0 where none is left."""
    departed = [pair for pair in known if data.draw(st.booleans())]
    before, after = Counter(known), Counter(known) + Counter(arrived)
    after.subtract(departed)
    found = count_changes(table(dict(before)), matrix(arrived), matrix(departed))
    assert content(found) == {pair: count for pair, count in after.items() if count != before[pair]}
