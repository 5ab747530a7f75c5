"""What is recorded of time slices: the load of units by stream, and how dense the rows of a stream are."""

from __future__ import annotations

from dataclasses import dataclass


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
class SliceState:
    """The loads of all units, the density of each stream, and for how many steps of an epoch a change was due."""

    loads: tuple[SliceLoad, ...] = ()
    densities: tuple[Density, ...] = ()
    due_steps: int = 0
    epoch: int = 0
