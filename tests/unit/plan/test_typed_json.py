"""Dataclasses come back from their text with the same types; other content is refused."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import pytest

from braid.plan.typed_json import from_json, from_text, to_rows, to_text


@dataclass(frozen=True)
class Leaf:
    name: str
    size: int | None = None


@dataclass(frozen=True, kw_only=True)
class Sized:
    size: int = 0


@dataclass(frozen=True)
class Later(Sized):
    name: str


@dataclass(frozen=True)
class Tree:
    kind: Literal["a", "b"]
    leaves: tuple[Leaf, ...]
    best: Leaf | None
    pair: tuple[int, Leaf]
    paths: tuple[tuple[int, ...], ...]
    counts: dict[str, int]
    free: dict[str, Any] = field(default_factory=dict)
    mixed: int | str = 0


TREE = Tree(
    "b",
    (Leaf("x", 1), Leaf("ä\n")),
    Leaf("y", -(1 << 62)),
    (3, Leaf("z")),
    ((1, 2), ()),
    {"f": 7},
    {"any": [1, {"b": None}]},
    "text",
)


def test_a_dataclass_comes_back_equal_with_all_its_types() -> None:
    again = from_text(Tree, to_text(TREE))
    assert again == TREE
    assert isinstance(again.leaves, tuple)
    assert [type(leaf) for leaf in again.leaves] == [Leaf, Leaf]
    assert isinstance(again.best, Leaf)
    assert isinstance(again.pair[1], Leaf)
    assert isinstance(again.paths[0], tuple)


def test_rows_are_read_like_texts_with_names_and_are_shorter() -> None:
    assert from_text(Tree, to_rows(TREE)) == TREE
    assert len(to_rows(TREE)) < 0.7 * len(to_text(TREE))
    assert from_text(Later, to_rows(Later("x", size=3))) == Later("x", size=3)


@pytest.mark.parametrize("row", [["x"], ["x", 1, 2], []])
def test_a_row_with_other_fields_is_refused(row: list[Any]) -> None:
    with pytest.raises(TypeError, match="Leaf has 2 fields"):
        from_json(Leaf, row)


def test_nothing_stays_nothing() -> None:
    tree = Tree("a", (), None, (0, Leaf("", None)), (), {})
    assert from_text(Tree, to_text(tree)) == tree


def test_defaults_fill_missing_fields() -> None:
    assert from_json(Leaf, {"name": "only"}) == Leaf("only")


@pytest.mark.parametrize("content", [{"size": 1}, {"name": "x", "more": 2}, {"name": "x", "__class__": "y"}])
def test_missing_and_unknown_fields_are_refused(content: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        from_json(Leaf, content)


def test_a_value_that_json_has_not_is_refused() -> None:
    with pytest.raises(TypeError):
        to_text({"bytes": b"x"})
