"""What the workers of each executor hold, from the reports of their tasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from braid.engine.reports import TaskReport


class ExecutorMemory:
    """The last and the largest values of each worker since they were taken."""

    def __init__(self) -> None:
        self._resident: dict[str, dict[int, int]] = defaultdict(dict)
        self._peaks: dict[str, dict[int, int]] = defaultdict(dict)
        self._device_bytes = self._major_faults = self._page_cache = 0

    def add(self, reports: Iterable[TaskReport]) -> None:
        for memory in (report.memory for report in reports if report.memory is not None):
            self._resident[memory.executor][memory.worker] = memory.resident
            peaks = self._peaks[memory.executor]
            peaks[memory.worker] = max(memory.peak, peaks.get(memory.worker, 0))
            self._device_bytes += memory.device_bytes
            self._major_faults += memory.major_faults
            self._page_cache = max(self._page_cache, memory.page_cache)

    def take(self) -> dict[str, int]:
        """Of all executors the largest sum of what their workers held after their last tasks, and at most.

        Workers need not have their largest values at the same time, so `peak` is an upper bound. Empty without a limit.
        """
        if not self._resident:
            return {}
        found = {
            "resident": max(sum(own.values()) for own in self._resident.values()),
            "peak": max(sum(own.values()) for own in self._peaks.values()),
            "executors": len(self._resident),
            "workers": sum(len(own) for own in self._resident.values()),
            "deviceBytes": self._device_bytes,
            "majorFaults": self._major_faults,
            "pageCache": self._page_cache,
        }
        self._resident.clear()
        self._peaks.clear()
        self._device_bytes = self._major_faults = self._page_cache = 0
        return found
