"""Parts: clean-up terms are disjoint, and with what steps find they are all results; compared with nested loops."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from braid.placement.parts import PartRange, PartTerm, clean_up_terms, deferred_combinations, term_combinations
from tests.budget import seeds

SHAPES = [(streams, parts) for streams in range(1, 6) for parts in range(1, 6)]


def all_terms(streams: int, parts: int) -> list[PartTerm]:
    return [term for part in range(parts) for term in clean_up_terms(streams, part)]


@pytest.mark.parametrize(("streams", "parts"), SHAPES)
def test_every_combination_is_found_once_by_a_step_or_by_one_term(streams: int, parts: int) -> None:
    terms = all_terms(streams, parts)
    for combination in itertools.product(range(parts), repeat=streams):
        in_a_step = len(set(combination)) == 1
        assert in_a_step + sum(term.has(combination) for term in terms) == 1


@pytest.mark.parametrize(("streams", "parts"), SHAPES)
def test_terms_grow_with_streams_and_parts_not_with_combinations(streams: int, parts: int) -> None:
    assert len(all_terms(streams, parts)) == 2 * (streams - 1) * (parts - 1)


@pytest.mark.parametrize(("streams", "parts"), SHAPES)
def test_a_term_of_a_part_sees_no_later_part_and_its_delta_stream_only_its_own(streams: int, parts: int) -> None:
    for part in range(parts):
        for term in clean_up_terms(streams, part):
            assert max(seen.last for seen in term.ranges) == part
            assert term.ranges[term.delta] == PartRange(part, part)


def test_two_parts_of_three_streams_are_the_papers_equation() -> None:
    """A2 B1 C1, then (A1 + A2) B2 C1, then (A1 + A2)(B1 + B2) C2 without A2 B2 C2."""
    first, second, both = PartRange(0, 0), PartRange(1, 1), PartRange(0, 1)
    assert clean_up_terms(3, 1) == (
        PartTerm(0, (second, first, first)),
        PartTerm(1, (both, second, first)),
        PartTerm(2, (first, both, second)),
        PartTerm(2, (second, first, second)),
    )


Row = tuple[int, int]
"""The join value of a row and its part."""


def random_rows(chance: random.Random, streams: int, parts: int) -> list[list[Row]]:
    return [
        [(chance.randrange(3), chance.randrange(parts)) for _ in range(chance.randint(0, 8))] for _ in range(streams)
    ]


def joined(streams: list[list[Row]]) -> list[tuple[tuple[int, int], ...]]:
    """All results by nested loops: for each stream the number and the part of its row."""
    results = []
    for numbers in itertools.product(*(range(len(rows)) for rows in streams)):
        found = [rows[number] for rows, number in zip(streams, numbers, strict=True)]
        if len({value for value, _ in found}) == 1:
            results.append(tuple((number, part) for number, (_, part) in zip(numbers, found, strict=True)))
    return results


def counts_of(streams: list[list[Row]], parts: int) -> np.ndarray:
    """The rows of each join value, stream and part."""
    counts = np.zeros((3, len(streams), parts), np.int64)
    for stream, rows in enumerate(streams):
        for value, part in rows:
            counts[value, stream, part] += 1
    return counts


@pytest.mark.parametrize("seed", seeds(0, 40))
def test_terms_find_the_results_of_nested_loops_between_parts(seed: int) -> None:
    chance = random.Random(seed)
    streams, parts = chance.randint(2, 4), chance.randint(1, 4)
    rows = random_rows(chance, streams, parts)
    between = [result for result in joined(rows) if len({part for _, part in result}) > 1]
    terms = all_terms(streams, parts)
    found = [result for term in terms for result in joined(rows) if term.has(tuple(part for _, part in result))]
    assert sorted(found) == sorted(between)
    counts = counts_of(rows, parts)
    assert deferred_combinations(counts).sum() == len(between)
    assert sum(term_combinations(term, counts).sum() for term in terms) == len(between)


@pytest.mark.parametrize("seed", seeds(0, 40))
def test_parts_that_were_cleaned_up_are_like_one(seed: int) -> None:
    """Merging part after part, as the paper does, leaves the same to be found as all terms together."""
    chance = random.Random(seed)
    streams, parts = chance.randint(2, 4), chance.randint(2, 5)
    counts = counts_of(random_rows(chance, streams, parts), parts)
    for part in range(1, parts):
        done = sum(term_combinations(term, counts) for term in clean_up_terms(streams, part))
        joined_parts = np.concatenate([counts[..., :part].sum(axis=-1, keepdims=True), counts[..., part:]], axis=-1)
        merged = np.concatenate([counts[..., : part + 1].sum(axis=-1, keepdims=True), counts[..., part + 1 :]], axis=-1)
        assert (deferred_combinations(joined_parts) - deferred_combinations(merged)).tolist() == np.asarray(
            done
        ).tolist()
    assert not deferred_combinations(counts.sum(axis=-1, keepdims=True)).any()
