"""A model of a step on N hosts with one slot each, from what was measured in one process.

    time = driver + sum over rounds of max over slots (CPU seconds + bytes read from other slots / bandwidth)

A round is a job: ingest, and each probe job. All hosts work at the speed of this one, each has its own link, nothing
overlaps, and Spark's cost of a task is left out. It is a model: nothing here was measured on N hosts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BANDWIDTH = 1e9 / 8
"""Bytes a second of a link: 1 Gbit/s."""


@dataclass(frozen=True)
class SlotWork:
    """What one slot did in one round: CPU seconds, and bytes read that other slots wrote."""

    cpu: float
    moved_bytes: int


@dataclass(frozen=True)
class StepWork:
    """What was measured of one step: the driver's CPU seconds, and the work of each slot in each round."""

    rows: int
    driver: float
    rounds: tuple[tuple[SlotWork, ...], ...]

    @property
    def cpu(self) -> float:
        """CPU seconds in all task functions."""
        return sum(slot.cpu for round_ in self.rounds for slot in round_)

    def modelled_seconds(self, bandwidth: float = BANDWIDTH) -> float:
        slowest = [max((w.cpu + w.moved_bytes / bandwidth for w in round_), default=0.0) for round_ in self.rounds]
        return self.driver + sum(slowest)

    def modelled_rate(self, bandwidth: float = BANDWIDTH) -> float:
        """Rows a second, by the model."""
        return self.rows / self.modelled_seconds(bandwidth)


def by_slot(ingest: Sequence[tuple[int, SlotWork]], slots: int) -> tuple[SlotWork, ...]:
    """The ingest tasks of all streams as one round: partition n of each stream runs on slot n."""
    cpu, moved = [0.0] * slots, [0] * slots
    for partition, work in ingest:
        cpu[partition % slots] += work.cpu
        moved[partition % slots] += work.moved_bytes
    return tuple(map(SlotWork, cpu, moved))
