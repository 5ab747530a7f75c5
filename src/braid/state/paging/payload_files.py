"""Payload files: which file has the payload of a row, and where in it.

The address of a payload is the id that a step's ingest task gives to a row (`engine/row_ids.py`): row n of task p has
the id first + n * stride + p. So an address says the file and the row in it, once the files of all steps are known. It
stays valid when a row is sorted, gathered, merged or exchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from braid.errors import CorruptStateError

Numbers = npt.NDArray[np.int64]
NO_FILE = -1


@dataclass(frozen=True)
class PayloadFile:
    """The payloads of a stream's rows that one ingest task of a step has stored, in the order in which they arrived.

    `first_id` is the first id of the step, as a signed number of 64 bits, `columns` are the names of its columns. No
    stored row has had an address in it after step `unneeded_since`; None: some may.
    """

    file: str
    stream: int
    step: int
    task: int
    first_id: int
    stride: int
    rows: int
    size: int
    columns: tuple[str, ...]
    unneeded_since: int | None = None


class PayloadIndex:
    """Finds the payload files of addresses; `files` are those of one stream."""

    def __init__(self, files: Iterable[PayloadFile]) -> None:
        self.files: Sequence[PayloadFile] = sorted(files, key=lambda file: (file.step, file.task))
        by_step = {file.step: file for file in self.files}
        firsts = np.array([file.first_id for file in by_step.values()], np.int64).view(np.uint64)
        # Ids start again after the largest, so they are counted from those of the oldest step.
        self._oldest = firsts[:1]
        self._firsts = firsts - self._oldest
        self._strides = np.array([file.stride for file in by_step.values()], np.uint64)
        self._starts = np.concatenate(([0], np.cumsum(self._strides.astype(np.int64))))
        self._numbers = np.full(int(self._starts[-1]), NO_FILE)
        places = {step: place for place, step in enumerate(by_step)}
        for number, file in enumerate(self.files):
            self._numbers[self._starts[places[file.step]] + file.task] = number
        self._rows = np.array([*(file.rows for file in self.files), 0])

    def find(self, addresses: Numbers) -> tuple[Numbers, Numbers]:
        """For each address the number of its file, and its row there."""
        counted = addresses.view(np.uint64) - self._oldest
        steps = np.searchsorted(self._firsts, counted, side="right") - 1
        strides, counted = self._strides[steps], counted - self._firsts[steps]
        rows = (counted // strides).astype(np.int64)
        numbers = self._numbers[self._starts[steps] + (counted % strides).astype(np.int64)]
        if len(addresses) and (rows >= self._rows[numbers]).any():
            raise CorruptStateError(
                "A stored row has the address of a payload that no payload file of the checkpoint has.",
                hint="Restore the checkpoint from a copy, then start the query again.",
            )
        return numbers, rows
