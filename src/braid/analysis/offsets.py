"""How far a time zone's offset may change between two instants: how much a calendar day may differ from 24 hours."""

from __future__ import annotations

import re
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
