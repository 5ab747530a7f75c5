"""How a command reaches the tasks of its job: in a local property of Spark, or in a file that the property names.

The parts of a command make one sequence of bytes:

    places and checksums of the slots' parts | common part | part of slot 0 | part of slot 1 | ...

A small one is in the property itself. A larger one is a file in `commands/`: the property has its name, and the length
and checksum of what precedes the slots' parts, so it does not grow with the cluster. A task reads its own part by
range, and its worker the common part once for all tasks of the job that it runs. The file is removed when the job ends.
Its name has the run and the step, so what a crash leaves is swept once the step is committed.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np
import xxhash

from braid.engine.commands import Command
from braid.engine.sending.division import divide, open_common
from braid.errors import CorruptStateError, StorageError
from braid.state.files import Files, locate

DIRECTORY = "commands"
# Spark sends the property with every task; a file costs a write, a deletion and two reads.
INLINE_BYTES = 4096
ENTRY = np.dtype([("offset", "<u4"), ("length", "<u4"), ("checksum", "<u8")])
COUNT_BYTES = 4
INLINE, FILE = "inline", "file"

C = TypeVar("C", bound=Command[Any])
Read = Callable[[int, int], bytes]


class CommandSender:
    """Sends the commands of a run, from the driver."""

    def __init__(self, files: Files, checkpoint: str) -> None:
        self._files = files
        self._checkpoint = checkpoint
        self._sent = 0

    @contextmanager
    def sent(self, command: Command[Any], slots: int) -> Iterator[str]:
        """The property by which the tasks of a job find the command, as long as the job runs."""
        head, body = encode(command, slots)
        described = f"{len(head)} {xxhash.xxh3_64_hexdigest(head)}"
        if len(head) + len(body) <= INLINE_BYTES:
            yield f"{INLINE} {described} {base64.b64encode(head + body).decode()}"
            return
        self._sent += 1
        name = f"{command.run[:8]}-{command.step:012d}-c{self._sent}.command"
        path = f"{self._checkpoint}/{DIRECTORY}/{name}"
        self._files.write_new(path, head + body)
        try:
            yield f"{FILE} {described} {name}"
        finally:
            # What cannot be deleted now is swept later; an error of the job must not be hidden.
            with suppress(StorageError):
                self._files.delete(path)


def encode(command: Command[Any], slots: int) -> tuple[bytes, bytes]:
    """What precedes the slots' parts, and these parts."""
    division = divide(command, slots)
    entries = np.zeros(len(division.own), ENTRY)
    first = COUNT_BYTES + entries.nbytes + len(division.common)
    entries["length"] = [len(part) for part in division.own]
    entries["offset"] = list(accumulate(entries["length"].tolist()[:-1], initial=first)) if division.own else []
    entries["checksum"] = [xxhash.xxh3_64_intdigest(part) for part in division.own]
    head = len(entries).to_bytes(COUNT_BYTES, "little") + entries.tobytes() + division.common
    return head, b"".join(division.own)


def receive(kind: type[C], text: str, slot: int, checkpoint: str) -> C:
    """In a task: the command of a slot, from the property of its job."""
    place, length, checksum, content = text.split(" ", 3)
    if place == INLINE:
        data = base64.b64decode(content)

        def read_inline(at: int, size: int) -> bytes:
            return data[at : at + size]

        return _part(kind, _head(kind, text, read_inline, int(length), checksum), read_inline, slot)
    files, path = locate(checkpoint)
    with files.open_input(f"{path}/{DIRECTORY}/{content}") as file:

        def read(at: int, size: int) -> bytes:
            return bytes(file.read_at(size, at))

        return _part(kind, _head(kind, text, read, int(length), checksum), read, slot)


class _Head:
    """What precedes the slots' parts of a command, opened."""

    def __init__(self, kind: type[Any], data: bytes, checksum: str) -> None:
        if xxhash.xxh3_64_hexdigest(data) != checksum:
            raise _damaged("what its slots share")
        count = int.from_bytes(data[:COUNT_BYTES], "little")
        self.entries = np.frombuffer(data, ENTRY, count, COUNT_BYTES)
        self.joined = open_common(kind, data[COUNT_BYTES + self.entries.nbytes :])


_known: dict[str, _Head] = {}


def _head(kind: type[Any], text: str, read: Read, length: int, checksum: str) -> _Head:
    """The head of a command: a worker opens that of the current job once."""
    opened = _known.get(text)
    if opened is None:
        opened = _Head(kind, read(0, length), checksum)
        _known.clear()
        _known[text] = opened
    return opened


def _part(kind: type[C], head: _Head, read: Read, slot: int) -> C:
    own = b""
    if len(head.entries):
        offset, length, checksum = head.entries[slot].tolist()
        own = read(offset, length)
        if xxhash.xxh3_64_intdigest(own) != checksum:
            raise _damaged(f"the part of slot {slot}")
    command: C = head.joined(own, slot)
    return command


def _damaged(what: str) -> CorruptStateError:
    return CorruptStateError(
        f"A command of the driver was damaged on its way to a task: {what} fails its checksum.",
        hint="Start the query again: the step is repeated. If it happens again, check the storage of the checkpoint.",
    )
