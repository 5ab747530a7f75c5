"""How far a time zone's offset may change between two instants: how much a calendar day may differ from 24 hours."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

_SECOND_US = 1_000_000
_OFFSET = r"(Z|[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?)"
# As java.time prints them: one call to the JVM instead of several for each of some hundred transitions.
_TRANSITION = re.compile(rf"\[(?:Gap|Overlap) at (\S+?){_OFFSET} to {_OFFSET}\]")
_RULE = re.compile(rf"(?:Gap|Overlap) {_OFFSET} to {_OFFSET},")


@dataclass(frozen=True)
class Transition:
    """A change of the offset, all in microseconds."""

    instant_us: int
    before_us: int
    after_us: int


@dataclass(frozen=True)
class Offsets:
    """The offsets of a zone: its transitions, and after them the `recurring` ones, which alternate forever."""

    transitions: tuple[Transition, ...]
    recurring_us: tuple[int, ...]

    @cached_property
    def spread_us(self) -> int:
        """The largest difference of any two offsets."""
        changes = [offset for change in self.transitions for offset in (change.before_us, change.after_us)]
        return _spread([*changes, *self.recurring_us])

    def spread_within_us(self, span_us: int) -> int:
        """The largest difference of the offsets of two instants that are at most this far apart."""
        widest = _spread(self.recurring_us)
        for first, start in enumerate(self.transitions):
            met = [start.before_us]
            for change in self.transitions[first:]:
                if change.instant_us - start.instant_us > span_us:
                    break
                met.append(change.after_us)
            else:
                met += self.recurring_us
            widest = max(widest, _spread(met))
        return widest


FIXED = Offsets((), (0,))


def read_offsets(rules: Any) -> Offsets | None:
    """The offsets of Java's rules of a zone; None if their text form is unknown."""
    if rules.isFixedOffset():
        return FIXED
    transitions, recurring = rules.getTransitions(), rules.getTransitionRules()
    changes = tuple(_transition(*found) for found in _TRANSITION.findall(str(transitions.toString())))
    repeated = [offset for found in _RULE.findall(str(recurring.toString())) for offset in found]
    if len(changes) != transitions.size() or len(repeated) != 2 * recurring.size() or not changes:
        return None
    return Offsets(changes, (changes[-1].after_us, *(_offset_us(text) for text in repeated)))


def local_rules(rules: Any) -> str | None:
    """Java's rules of a zone that changes, as the text that workers read; None if they are unknown."""
    known = read_offsets(rules)
    if known is None or not known.transitions:
        return None
    changes = list(known.transitions)
    recurring, start = rules.getTransitionRules(), None
    if recurring.size():
        first_year = 1970 + int(changes[-1].instant_us // (366 * 86_400 * _SECOND_US)) - 1
        for year in range(first_year, first_year + 406):
            found = [_TRANSITION.search(str(recurring.get(n).createTransition(year))) for n in range(recurring.size())]
            if None in found:
                return None
            repeated = (_transition(*one.groups()) for one in found if one is not None)
            changes += sorted((c for c in repeated if c.instant_us > changes[-1].instant_us), key=_instant)
        # A whole year after the last change of its own, everything repeats.
        start = known.transitions[-1].instant_us + 366 * 86_400 * _SECOND_US
    return rules_text(changes[0].before_us, changes, start)


def _instant(change: Transition) -> int:
    return change.instant_us


def rules_text(first_us: int, changes: Sequence[Transition], repeated_from_us: int | None) -> str:
    """An offset, and how it changes, for workers."""
    return json.dumps(
        {
            "first": first_us // _SECOND_US,
            "instants": [change.instant_us // _SECOND_US for change in changes],
            "offsets": [change.after_us // _SECOND_US for change in changes],
            "repeated_from": None if repeated_from_us is None else repeated_from_us // _SECOND_US,
        }
    )


def _transition(local: str, before: str, after: str) -> Transition:
    wall = datetime.fromisoformat(local).replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    before_us = _offset_us(before)
    return Transition(wall // timedelta(microseconds=1) - before_us, before_us, _offset_us(after))


def _offset_us(text: str) -> int:
    if text == "Z":
        return 0
    hours, minutes, seconds = (*map(int, text[1:].split(":")), 0)[:3]
    return (-1 if text[0] == "-" else 1) * (3600 * hours + 60 * minutes + seconds) * _SECOND_US


def _spread(offsets: list[int] | tuple[int, ...]) -> int:
    return max(offsets) - min(offsets)
