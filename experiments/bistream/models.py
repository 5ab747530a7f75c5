"""The paper's settings by their names: JMx, a square matrix; JBx, a biclique; JBx-CRy, one with y subgroups a side."""

from __future__ import annotations

import math
import re

from braid.optimizer.strategies import Biclique, Matrix, Strategy
from braid.plan.layout import Layout

SETTING = re.compile(r"J([MB])(\d+)(?:-CR(\d+))?")


def model(name: str, query: str = "") -> Strategy:
    """The strategy of a name such as JM16, JB16 or JB16-CR4. The subgroups of a band, which has no key, are ranges."""
    kind, units, groups = _parts(name)
    if kind == "M":
        side = math.isqrt(units)
        if side * side != units:
            raise ValueError(f"{name}: a square matrix needs a square number of units")
        return Matrix(side, side)
    sides = (units // 2, units // 2)
    if groups is not None and query == "band":
        return Biclique(sides, groups, routing="range")
    return Biclique(sides, groups)


def layout_of(name: str) -> Layout:
    """The layout of a name, for the paper's equations."""
    kind, units, groups = _parts(name)
    side = math.isqrt(units) if kind == "M" else units // 2
    counts = (groups or 1, groups or 1)
    return Layout(epoch=0, kind="matrix" if kind == "M" else "biclique", units=(side, side), groups=counts)


def units_of(name: str) -> int:
    return _parts(name)[1]


def label(name: str) -> str:
    """A setting in words: biclique, 16 units, 4 subgroups."""
    kind, units, groups = _parts(name)
    words = f"{'matrix' if kind == 'M' else 'biclique'}, {units} units"
    return words if groups is None else f"{words}, {groups} subgroups"


def _parts(name: str) -> tuple[str, int, int | None]:
    found = SETTING.fullmatch(name)
    if found is None:
        raise ValueError(f"{name} is not a setting of the paper")
    return found[1], int(found[2]), int(found[3]) if found[3] else None
