"""A strategy from its text, as a user writes it and `describe()` prints it, so that a task can be written down."""

from __future__ import annotations

import ast

from braid.optimizer.strategies import STRATEGIES, Strategy


def strategy_of(text: str) -> Strategy:
    """The strategy that a text such as `Biclique(units=(4, 4), groups=2)` names; nothing in it is executed."""
    kinds = {kind.__name__: kind for kind in STRATEGIES}
    match ast.parse(text, mode="eval").body:
        case ast.Call(func=ast.Name(id=name), args=args, keywords=keywords) if name in kinds:
            given = {word.arg: ast.literal_eval(word.value) for word in keywords if word.arg is not None}
            return kinds[name](*map(ast.literal_eval, args), **given)
    raise ValueError(f"{text!r} is not a strategy; there are {', '.join(kinds)}.")
