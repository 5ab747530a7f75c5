"""Changes of a query, drawn at random: each says what the error of a restart must name, or is safe."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from braid.control.ordering import Ordering
from braid.optimizer.strategies import AlignedRouting, Auto, Biclique, CoordinatedRouting, Matrix
from braid.plan.aggregation import Function
from tests.properties.restarts import PREDICATES, TYPES, Asked


@dataclass(frozen=True)
class Change:
    """A query after a change, and the words that a refusal must have; none where the change is safe."""

    asked: Asked
    words: tuple[str, ...]


Changing = Callable[[random.Random, Asked], Change | None]


def _swap(asked: Asked, items: tuple[Any, ...], chance: random.Random) -> tuple[Any, ...] | None:
    if len(items) < 2:
        return None
    first, second = chance.sample(range(len(items)), 2)
    changed = list(items)
    changed[first], changed[second] = changed[second], changed[first]
    return tuple(changed) if tuple(changed) != items else None


def _kind(asked: Asked) -> str:
    return "groups" if asked.calls else "selection"


def swap_columns(chance: random.Random, asked: Asked) -> Change | None:
    columns = _swap(asked, asked.columns, chance)
    return None if columns is None else Change(replace(asked, columns=columns), (_kind(asked),))


def rename_column(chance: random.Random, asked: Asked) -> Change | None:
    if asked.calls or asked.distinct:
        return None  # their names in a draft follow from the columns
    place = chance.randrange(len(asked.columns))
    columns = list(asked.columns)
    columns[place] = ("renamed", columns[place][1])
    return Change(replace(asked, columns=tuple(columns)), ("selection", "renamed"))


def other_column(chance: random.Random, asked: Asked) -> Change | None:
    place, name = chance.randrange(len(asked.columns)), chance.choice(("r_p", "s_p"))
    columns = list(asked.columns)
    columns[place] = (columns[place][0], name)
    return Change(replace(asked, columns=tuple(columns)), (_kind(asked),))


def drop_column(chance: random.Random, asked: Asked) -> Change | None:
    if len(asked.columns) < 2:
        return None
    alias, column = asked.columns[-1]
    named = column.replace("_", ".") if asked.calls or asked.distinct else alias
    return Change(replace(asked, columns=asked.columns[:-1]), (_kind(asked), f"{named}: is gone"))


def retype(chance: random.Random, asked: Asked) -> Change | None:
    stream, name = chance.choice("rs"), chance.choice("kvp")
    if "k" in name and any(p.startswith(("k", "t")) for p in asked.predicates):
        # Both sides of a comparison have one type, so both are changed.
        chosen = ("r", "s")
    else:
        chosen = ("r", "s") if name == "v" and any(p.startswith("v") for p in asked.predicates) else (stream,)
    sources = tuple(
        replace(s, columns=tuple((n, TYPES[n][1] if n == name else kind) for n, kind in s.columns))
        if s.name in chosen
        else s
        for s in asked.sources
    )
    read = [s for s in chosen if f"{s}_{name}" in asked.read()]
    counted = [s.name for s in sources if s.window_rows is not None and s.name in chosen]
    if sources == asked.sources:
        return None
    return Change(replace(asked, sources=sources), (f"{(read or counted)[0]}.{name}",) if read or counted else ())


def change_predicate(chance: random.Random, asked: Asked) -> Change | None:
    unused = [name for name in PREDICATES if name not in asked.predicates]
    kept = list(asked.predicates)
    what = chance.choice(("add", "drop", "replace", "swap"))
    if what == "swap":
        predicates = _swap(asked, asked.predicates, chance)
        return None if predicates is None else Change(replace(asked, predicates=predicates), ("predicates", "order"))
    if what != "add":
        kept.pop(chance.randrange(len(kept)))
    if what != "drop":
        kept.append(chance.choice(unused))
    if not kept or tuple(kept) == asked.predicates:
        return None
    return Change(replace(asked, predicates=tuple(kept)), ("predicate ",))


def change_window(chance: random.Random, asked: Asked) -> Change | None:
    place = chance.randrange(2)
    source = asked.sources[place]
    what = chance.choice(("window", "lateness", "idle_after", "kind"))
    if what == "kind":
        changed = replace(source, window_us=None, window_rows=None)
    elif what == "window" and source.window_rows is not None:
        changed = replace(source, window_rows=source.window_rows + 1)
    else:
        changed = {
            "window": replace(source, window_us=(source.window_us or 0) + 1),
            "lateness": replace(source, lateness_us=(source.lateness_us or 0) + 1),
            "idle_after": replace(source, idle_after_ms=50),
        }[what]
    sources = list(asked.sources)
    sources[place] = changed
    word = "window" if what == "kind" else what
    return Change(replace(asked, sources=tuple(sources)), (f"streams {source.name} {word}",))


def swap_streams(chance: random.Random, asked: Asked) -> Change | None:
    return Change(replace(asked, sources=asked.sources[::-1]), ("position",))


def change_calls(chance: random.Random, asked: Asked) -> Change | None:
    if not asked.calls:
        return None
    what = chance.choice(("swap", "function", "argument", "drop", "over", "updates"))
    if what == "over":
        return Change(replace(asked, over_us=20), ("over: was None, is 20",))
    if what == "updates":
        return Change(replace(asked, updates="immediate"), ("updates",))
    first, *rest = asked.calls
    calls: dict[str, tuple[tuple[Function, str], ...]] = {
        "swap": asked.calls[::-1],
        "function": (("max" if first[0] != "max" else "min", first[1]), *rest),
        "argument": ((first[0], {"s_v": "r_v", "r_v": "s_v", "r_t": "s_t", "r_k": "s_k"}[first[1]]), *rest),
        "drop": (first,),
    }
    if calls[what] == asked.calls:
        return None
    return Change(replace(asked, calls=calls[what]), ("aggregates",))


def change_shape(chance: random.Random, asked: Asked) -> Change | None:
    if chance.random() < 0.5 and all(source.window_rows is None for source in asked.sources):
        return Change(replace(asked, ordered=not asked.ordered), ("order: ",))
    if asked.calls:
        return Change(replace(asked, calls=()), ("selection", "groups"))
    return Change(replace(asked, distinct=not asked.distinct), ("distinct",))


def change_settings(chance: random.Random, asked: Asked) -> Change | None:
    if chance.random() < 0.5:
        return Change(replace(asked, time_zone="Asia/Tokyo"), ("settings time zone: was 'UTC', is 'Asia/Tokyo'",))
    return Change(replace(asked, ansi=False), ("settings ANSI mode",))


def change_function(chance: random.Random, asked: Asked) -> Change | None:
    """Another function of the same name, or another version of the same one."""
    if asked.function is None:
        return None
    if asked.version is not None and chance.random() < 0.5:
        return Change(replace(asked, version="2"), ("predicate near: its version was 1, is 2",))
    changed = replace(asked, function=chance.choice((1, 2)), version=None)
    words = "its code has changed" if asked.version is None else "its version was 1, is None"
    return Change(changed, (f"predicate near: {words}",))


def reorder_source(chance: random.Random, asked: Asked) -> Change | None:
    """The source has its columns in another order, or one more that nobody reads."""
    place = chance.randrange(2)
    source = asked.sources[place]
    columns = tuple(chance.sample(source.columns, len(source.columns)))
    if chance.random() < 0.4:
        columns = (*columns[:2], ("e", "double"), *columns[2:])
    if columns == source.columns:
        return None
    sources = list(asked.sources)
    sources[place] = replace(source, columns=columns)
    words = () if source.window_rows is None else (f"streams {source.name} order of rows",)
    return Change(replace(asked, sources=tuple(sources)), words)


def change_execution(chance: random.Random, asked: Asked) -> Change | None:
    return Change(
        replace(
            asked,
            strategy=chance.choice(
                (Auto(), Matrix(1, 3), Biclique((3, 1)), AlignedRouting("30 us", 3), CoordinatedRouting(2))
            ),
            policy=chance.choice((Ordering("filter-order", 0.3), Ordering("adaptive", 0.1))),
            slots=chance.randint(1, 3),
        ),
        (),
    )


CHANGES: tuple[Changing, ...] = (
    swap_columns,
    rename_column,
    other_column,
    drop_column,
    retype,
    change_predicate,
    change_window,
    swap_streams,
    change_calls,
    change_shape,
    change_settings,
    change_function,
    reorder_source,
    change_execution,
)
