"""Functions of a plan whose values are computed once and kept as long as the plan object lives.

A plan is compared by identity: comparing its contents would cost more than most of these values. Steps and tasks ask
for the same values again and again, in the driver for every step and in workers for every task.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

A = ParamSpec("A")
P = TypeVar("P")
V = TypeVar("V")


def once_per_plan(function: Callable[Concatenate[P, A], V]) -> Callable[Concatenate[P, A], V]:
    """The function with its values kept, for the plan that is its first argument; the other arguments are hashable."""
    known: dict[int, tuple[weakref.ref[Any], dict[Any, V]]] = {}

    @wraps(function)
    def value(plan: P, /, *arguments: A.args, **named: A.kwargs) -> V:
        place = id(plan)
        entry = known.get(place)
        if entry is None or entry[0]() is not plan:
            entry = known[place] = (weakref.ref(plan, lambda gone: _forget(known, place, gone)), {})
        values, key = entry[1], (arguments, tuple(named.items()))
        if key not in values:
            values[key] = function(plan, *arguments, **named)
        return values[key]

    return value


def _forget(known: dict[int, tuple[weakref.ref[Any], dict[Any, V]]], place: int, gone: weakref.ref[Any]) -> None:
    """Drop the values of a plan that is gone, unless a new plan already has its place."""
    if place in known and known[place][0] is gone:
        del known[place]
