"""Packed columns are read back exactly, whatever the numbers and texts, and are small where entries are alike."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from braid.state.packing import ColumnReader, ColumnWriter

NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.integers()
TEXTS = st.text(st.sampled_from("aZ0019%-_./é٣ ") | st.characters(codec="utf-8"), max_size=30)


@given(st.lists(st.tuples(st.lists(NUMBERS), st.lists(TEXTS))))
def test_columns_are_read_back_in_their_order(columns: list[tuple[list[int], list[str]]]) -> None:
    writer = ColumnWriter()
    for numbers, texts in columns:
        writer.numbers(numbers)
        writer.texts(texts)
    for reader in (ColumnReader(writer.to_bytes()), ColumnReader.of_text(writer.to_text())):
        for numbers, texts in columns:
            assert reader.integers() == numbers
            assert reader.texts() == texts


@pytest.mark.parametrize("numbers", [range(5000), [7] * 5000, range(2**62, 2**62 - 5000, -3)])
def test_regular_numbers_need_almost_nothing(numbers: list[int]) -> None:
    writer = ColumnWriter()
    writer.numbers(numbers)
    assert len(writer.to_bytes()) < 60


def test_names_that_differ_in_slot_and_attempt_need_two_bytes() -> None:
    chance = random.Random(1)
    names = [f"0a1b2c3d-000000000123-0-s{slot:05d}-{70_000 + chance.randrange(512)}-g0.block" for slot in range(1000)]
    writer = ColumnWriter()
    writer.texts(names)
    assert len(writer.to_bytes()) < 2 * len(names)


@pytest.mark.parametrize("odd", ["", "a-9-b", "x9%-0.block", "é-000-٣", "0" * 40])
def test_names_of_several_lengths_are_read_back_beside_any_other(odd: str) -> None:
    names = [
        f"0a1b2c3d-{step:012d}-s{slot:05d}-{10**digits}.block"
        for step in (9, 10)
        for slot in range(30)
        for digits in range(4)
    ]
    for texts in (names, [*names, odd], [odd, *names, odd]):
        writer = ColumnWriter()
        writer.texts(texts)
        assert ColumnReader(writer.to_bytes()).texts() == texts


def test_columns_that_are_cut_off_are_refused() -> None:
    with pytest.raises(ValueError, match="end too early"):
        ColumnReader(ColumnWriter().to_bytes()).numbers()
