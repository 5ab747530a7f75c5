"""What is measured: parts, each in a process of its own, by size.

`standard` are the sizes of the tables, within ten minutes on two quiet cores; `small` shows that everything runs.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from typing import Any, Literal

from benchmarks.scale.rows import Kind
from benchmarks.scale.skew import UNITS

Size = Literal["small", "standard"]
What = Literal["spark", "noop", "growth", "driver", "skew"]

ROUTINGS = ("random", "range")


@dataclass(frozen=True)
class Part:
    """One measurement: what, and with which arguments; it is given up after `limit_seconds`."""

    what: What
    arguments: dict[str, Any]
    limit_seconds: float

    @property
    def key(self) -> str:
        """The same for the same part, another for any other."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def title(self) -> str:
        return f"{self.what} {' '.join(str(value) for value in self.arguments.values() if value is not None)}"


@dataclass(frozen=True)
class Sizes:
    """The numbers of one size; rows are those of both streams together."""

    slots: tuple[int, ...]
    rows: int
    nested_rows: int
    window_steps: int
    steps: int
    warm_up: int
    hosts: tuple[int, ...]
    rows_per_slot: int
    growth_window_steps: int
    driver_slots: int
    skew_rows: int
    limit_seconds: float

    def rows_of(self, kind: Kind) -> int:
        """A nested loop compares every pair: with the rows of the others a step would take minutes."""
        return self.nested_rows if kind == "nested loop" else self.rows


SIZES: dict[Size, Sizes] = {
    "standard": Sizes(
        slots=(2, 8, 32),
        rows=100_000,
        nested_rows=16_000,
        window_steps=5,
        # How many slots are used is decided after eight steps, and rows of the layout before live for a window more.
        steps=41,
        warm_up=20,
        hosts=(1, 2, 4, 16, 32, 64),
        rows_per_slot=100_000,
        growth_window_steps=2,
        driver_slots=256,
        skew_rows=10_000,
        limit_seconds=240.0,
    ),
    "small": Sizes(
        slots=(2,),
        rows=400,
        nested_rows=200,
        window_steps=2,
        steps=4,
        warm_up=2,
        hosts=(1, 2),
        rows_per_slot=400,
        growth_window_steps=2,
        driver_slots=8,
        skew_rows=400,
        limit_seconds=120.0,
    ),
}
GROWTH_STEPS, GROWTH_COUNTED = 8, 3
SETTLED_STEPS = 30
EVERY_SLOT: dict[Kind, str] = {"equality": "Biclique(routing='contrand')", "band": "Biclique(routing='range')"}
KINDS: tuple[Kind, ...] = ("equality", "band", "nested loop")


def parts_of(size: Size, strategy: str | None) -> list[Part]:
    """All parts, the cheap ones of each kind first; `strategy` is that of the joins, None: Braid chooses."""
    sizes = SIZES[size]
    limit = sizes.limit_seconds
    found = [Part("noop", {"slots": slots}, limit) for slots in sizes.slots]
    for kind in KINDS:
        for slots in sizes.slots:
            join = {"kind": kind, "rows": sizes.rows_of(kind) // 2, "window_steps": sizes.window_steps}
            more = {"slots": slots, "steps": sizes.steps, "warm_up": sizes.warm_up, "strategy": strategy}
            found.append(Part("spark", join | more, limit))
    steps = {"steps": GROWTH_STEPS, "counted": GROWTH_COUNTED, "strategy": strategy}
    for kind in KINDS[:2]:
        for hosts in sizes.hosts:
            join = {"kind": kind, "rows": hosts * sizes.rows_per_slot // 2, "window_steps": sizes.growth_window_steps}
            found.append(Part("growth", join | {"slots": hosts} | steps, limit))
        join = {"kind": kind, "rows": sizes.rows // 2, "window_steps": sizes.window_steps, "slots": sizes.driver_slots}
        found.append(Part("driver", join | steps | {"strategy": EVERY_SLOT[kind]}, limit))
        # `Auto` uses fewer slots after some steps.
        settling = {"steps": SETTLED_STEPS, "counted": GROWTH_STEPS, "strategy": strategy}
        found.append(Part("driver", join | settling, 3 * limit))
    for routing in ROUTINGS:
        text = f"Biclique(units={UNITS}, routing={routing!r})"
        found.append(Part("skew", {"strategy": text, "rows": sizes.skew_rows // 2, "steps": 12}, limit))
    return found
