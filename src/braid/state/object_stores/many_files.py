"""Many files at once: what a step deletes and publishes grows with the slots.

On an object store every request takes some ten milliseconds, whatever it does. So requests there run in several
threads; one after the other, the files of hundreds of slots would take longer than the step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from braid.state.files import ArrowFiles, Files
from braid.state.usage import Meter, count_read, count_write

# Stores answer many more requests at once; a driver with few cores does not send more.
THREADS = 16


def delete_all(files: Files, paths: Sequence[str]) -> None:
    """Delete files; those that are missing are deleted already."""
    _run_all(files, [partial(files.delete, path) for path in paths])


def move_all(files: Files, moves: Sequence[tuple[str, str]]) -> None:
    """Move files from the first to the second path of each pair; a missing one was moved before."""
    _run_all(files, [partial(_move, files, source, target) for source, target in moves])


def _move(files: Files, source: str, target: str) -> None:
    if files.exists(source):
        try:
            files.rename(source, target)
        except FileNotFoundError:
            if files.exists(source):
                raise


def _run_all(files: Files, actions: Sequence[Callable[[], None]]) -> None:
    """Run requests, in threads where the storage is remote; what they count is added to the meter of this thread."""
    if not isinstance(files, ArrowFiles) or len(actions) < 2:
        for action in actions:
            action()
        return
    with ThreadPoolExecutor(min(THREADS, len(actions)), "braid-requests") as threads:
        _add_counts(list(threads.map(_metered, actions)))


def _metered(action: Callable[[], None]) -> Meter:
    meter = Meter()
    with meter.counting():
        action()
    return meter


def _add_counts(meters: Iterable[Meter]) -> None:
    for meter in meters:
        count_read(meter.store_reads)
        count_write(meter.store_writes)
