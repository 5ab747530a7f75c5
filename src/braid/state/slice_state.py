"""What is recorded of time slices: loads of units, densities of rows, and which rings would be faster."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SliceLoad:
    """The rows of a stream that a unit stores, and the pairs compared with them; those decay from step to step."""

    unit: int
    stream: int
    rows: int
    pairs: int


@dataclass(frozen=True)
class Density:
    """The rows of a stream that came while its event time went on by `span_us`; both decay from step to step.

    `newest_us` is the event time that the stream had reached then; `waiting` rows came since, but none after it.
    """

    rows: float = 0.0
    span_us: float = 0.0
    newest_us: int | None = None
    waiting: int = 0


@dataclass(frozen=True)
class Hops:
    """Lookups of a stream by a delta stream, counted at every slot that has some, and what they took besides comparing.

    Both decay from step to step.
    """

    lookups: float = 0.0
    seconds: float = 0.0


@dataclass(frozen=True)
class RingVote:
    """Rings of these lengths would be `gain` times as fast as those in force; some were in so many steps in a row."""

    lengths: tuple[int, ...]
    gain: float
    times: int


@dataclass(frozen=True)
class SliceState:
    """The loads of all units, the density of each stream, and for how many steps of an epoch a change was due.

    `rings` are those that would be faster; None: the rings in force are good.
    """

    loads: tuple[SliceLoad, ...] = ()
    densities: tuple[Density, ...] = ()
    due_steps: int = 0
    epoch: int = 0
    hops: Hops = field(default_factory=Hops)
    rings: RingVote | None = None
