"""Key parts: the equalities of a query, gathered into classes of sides that are all equal in a result.

`r.k = s.k AND s.k = t.k` is one part with three sides, so r can look up t directly. A part has at most one side per
stream. A null-safe equality is a part of its own, because its NULLs match.
"""

from __future__ import annotations

from collections.abc import Sequence

from braid.kernels.keys import is_exact
from braid.plan.join import KeyPart
from braid.plan.predicate import Conjunct, Equality, Side


def build_parts(conjuncts: Sequence[Conjunct]) -> tuple[KeyPart, ...]:
    """The key parts of a query. Equalities with sides that can raise are excluded: they are only checked."""
    classes: list[dict[int, Side]] = []
    alone: list[Equality] = []
    for conjunct in conjuncts:
        equality = conjunct.equality
        if equality is None or equality.left.raises or equality.right.raises:
            continue
        if equality.null_safe:
            alone.append(equality)
        else:
            _unite(classes, equality)
    parts = [(tuple(found.values()), False) for found in classes]
    parts += [((equality.left, equality.right), True) for equality in alone]
    return tuple(
        KeyPart(number, sides, null_safe, not null_safe and all(_exact(side) for side in sides))
        for number, (sides, null_safe) in enumerate(parts)
    )


def common_part(parts: Sequence[KeyPart], streams: int) -> int | None:
    """A part that every stream has a side in; exact ones first."""
    shared = [part for part in parts if len(part.streams) == streams]
    return min(shared, key=lambda part: not part.exact).number if shared else None


def _exact(side: Side) -> bool:
    return side.expression is not None and is_exact(side.type)


def _unite(classes: list[dict[int, Side]], equality: Equality) -> None:
    """Add a side to the class of the other, or merge their two classes, or start a class with both."""
    left, right = equality.left, equality.right
    left_class = _class_of(classes, left)
    right_class = _class_of(classes, right)
    if left_class is not None and right_class is not None:
        if left_class is not right_class and not left_class.keys() & right_class.keys():
            left_class.update(right_class)
            classes[:] = [found for found in classes if found is not right_class]
        return
    for found, side in ((left_class, right), (right_class, left)):
        if found is not None and side.stream not in found and side.type == next(iter(found.values())).type:
            found[side.stream] = side
            return
    classes.append({left.stream: left, right.stream: right})


def _class_of(classes: list[dict[int, Side]], side: Side) -> dict[int, Side] | None:
    return next((found for found in classes if found.get(side.stream) == side), None)
