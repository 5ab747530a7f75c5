"""The paper's settings by their names: JMx, a square matrix; JBx, a biclique; JBx-CRy, one with subgroups by key."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from braid.optimizer.strategies import Biclique, Matrix, Strategy


def model(name: str) -> Strategy:
    """The strategy of a name such as JM16, JB16 or JB16-CR4."""
    found = re.fullmatch(r"J([MB])(\d+)(?:-CR(\d+))?", name)
    if found is None:
        raise ValueError(f"{name} is not a setting of the paper")
    units = int(found[2])
    if found[1] == "M":
        side = math.isqrt(units)
        if side * side != units:
            raise ValueError(f"{name}: a square matrix needs a square number of units")
        return Matrix(side, side)
    return Biclique((units // 2, units // 2), int(found[3]) if found[3] else None)


def settings_for(query: str, names: Sequence[str]) -> tuple[str, ...]:
    """Those settings that can run a query: a band has no key to cut subgroups by."""
    return tuple(name for name in names if query != "band" or "-CR" not in name)
