"""An experiment: one function that measures, and pure functions that judge, describe and show what it measured."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from types import ModuleType
from typing import Any

from experiments.claims import Claim, Judged, Measured
from experiments.pictures import Picture

Settings = dict[str, Any]
"""Everything that could have been chosen otherwise, as JSON."""


@dataclass(frozen=True)
class Table:
    """A table of a section; the first column names, the others are figures."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


def _none(measured: Measured) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True)
class Experiment:
    """`measure(size)` is all that runs anything; all else is a function of what it returned, read back from JSON.

    `shown_in` has the names of the paper's figures and tables; `modules` are those, beside that of `measure` if it is a
    plain function, whose constants are settings.
    """

    name: str
    title: str
    shown_in: tuple[str, ...]
    measure: Callable[[Any], Measured]
    describe: Callable[[Measured, Settings], str]
    claims: tuple[Claim, ...]
    tables: Callable[[Measured], Sequence[Table]] = _none
    pictures: Callable[[Measured], Sequence[Picture]] = _none
    timed: bool = False
    modules: tuple[ModuleType, ...] = ()

    def judged(self, measured: Measured) -> list[Judged]:
        """Every claim with its verdict."""
        return [Judged(claim, claim.judge(measured)) for claim in self.claims]

    def settings(self, size: Any) -> Settings:
        """The fields of the size, and the constants of the modules that measure and judge."""
        found: dict[str, Any] = {f"size.{name}": value for name, value in asdict(size).items()}
        own = () if isinstance(self.measure, partial) else (sys.modules[self.measure.__module__],)
        for module in dict.fromkeys((*own, *self.modules)):
            found |= {f"{module.__name__.rpartition('.')[2]}.{name}": value for name, value in _constants(module)}
        return dict(plain(found))


def _constants(module: ModuleType) -> list[tuple[str, Any]]:
    """Constants that are data. A constant that is a text explains, and is no setting."""
    names = sorted(name for name in vars(module) if name.isupper() and not name.startswith("_"))
    return [(name, vars(module)[name]) for name in names if _is_data(vars(module)[name])]


def _is_data(value: Any) -> bool:
    if isinstance(value, str):
        return False
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def plain(content: Any) -> Any:
    """As it is read back from a record: tuples are lists, keys are texts."""
    return json.loads(json.dumps(content))
