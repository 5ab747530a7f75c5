"""Samples of rows: frequent keys, the numbers that rows are routed by, and what access paths leave."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FrequentKey:
    """A frequent key of a stream: its 64 bits, its value as text, and its approximate number of rows."""

    key: int
    text: str
    rows: float


@dataclass(frozen=True)
class KeyCounts:
    """Observed keys of a stream: number of rows, and the most frequent keys; both decay from step to step."""

    rows: float = 0.0
    keys: tuple[FrequentKey, ...] = ()


@dataclass(frozen=True)
class NumberSample:
    """A weighted sample of the numbers that a stream's rows are routed by, which decays from step to step.

    `rows` is the number of rows it stands for, `points` an array in text form (`control/number_samples.py`).
    """

    rows: float = 0.0
    points: str = ""


@dataclass(frozen=True)
class PathShare:
    """The share of a stream's rows that are candidates of a probing row, if an index is sorted by a candidate."""

    stream: int
    index: int
    choice: int
    share: float
