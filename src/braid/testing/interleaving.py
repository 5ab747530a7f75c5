"""Several drivers on one storage, one operation at a time, in an order that depends on a seed.

Every driver is a thread; before each operation on storage it waits until it is chosen. So a test can run thousands of
interleavings, and repeat the one that failed.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from braid.state.files import Files


class Turns:
    """Lets one driver continue at a time; the others wait at their next operation.

    `switching` is the chance that another one is chosen after an operation: with a low chance drivers pause for long.
    """

    def __init__(self, chance: random.Random, switching: float = 1.0) -> None:
        self._chance = chance
        self._switching = switching
        self._changed = threading.Condition()
        self._waiting: list[int] = []
        self._chosen: int | None = None
        self._errors: list[BaseException] = []

    def run(self, drivers: list[Callable[[Callable[[], None]], None]]) -> None:
        """Run all drivers to their ends; each receives the function that it calls between operations."""
        threads = [threading.Thread(target=self._drive, args=(n, driver)) for n, driver in enumerate(drivers)]
        self._waiting = list(range(len(drivers)))
        self._chosen = self._chance.choice(self._waiting)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self._errors:
            raise self._errors[0]

    def _drive(self, number: int, driver: Callable[[Callable[[], None]], None]) -> None:
        try:
            self._await_turn(number)
            driver(lambda: self._give_way(number))
        except BaseException as error:  # a failed assertion or a crash ends the run, and is raised by the caller
            self._errors.append(error)
        finally:
            with self._changed:
                self._waiting.remove(number)
                self._choose()

    def _give_way(self, number: int) -> None:
        if self._chance.random() < self._switching:
            with self._changed:
                self._choose()
            self._await_turn(number)

    def _await_turn(self, number: int) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._chosen == number)

    def _choose(self) -> None:
        self._chosen = self._chance.choice(self._waiting) if self._waiting else None
        self._changed.notify_all()


class InterleavedFiles:
    """A `Files` whose driver waits for its turn before every operation, reads included."""

    def __init__(self, files: Files, give_way: Callable[[], None]) -> None:
        self._files = files
        self._give_way = give_way
        self.scheme = files.scheme
        self.atomic_rename = files.atomic_rename

    def read(self, path: str) -> bytes:
        self._give_way()
        return self._files.read(path)

    def map(self, path: str) -> pa.Buffer:
        self._give_way()
        return self._files.map(path)

    @contextmanager
    def open_output(self, path: str) -> Iterator[Any]:
        self._give_way()
        with self._files.open_output(path) as output:
            yield output

    def write_new(self, path: str, data: bytes) -> None:
        self._give_way()
        self._files.write_new(path, data)

    def rename(self, source: str, target: str) -> None:
        self._give_way()
        self._files.rename(source, target)

    def exists(self, path: str) -> bool:
        self._give_way()
        return self._files.exists(path)

    def list(self, directory: str) -> list[str]:
        self._give_way()
        return self._files.list(directory)

    def tree_size(self, directory: str) -> int:
        self._give_way()
        return self._files.tree_size(directory)

    def delete(self, path: str) -> None:
        self._give_way()
        self._files.delete(path)

    def delete_tree(self, directory: str) -> None:
        self._give_way()
        self._files.delete_tree(directory)

    def why_not_exclusive(self, directory: str) -> str:
        return self._files.why_not_exclusive(directory)

    def make_directory(self, directory: str) -> None:
        self._give_way()
        self._files.make_directory(directory)
