"""Pages of mapped files that a process gives back: they stay mapped, and are read again when they are touched.

Only for buffers of mapped files: the memory of any other buffer would lose what is in it.
"""

from __future__ import annotations

import ctypes
import mmap
from functools import cache
from typing import Any

import pyarrow as pa

MADV_DONTNEED = 4


def give_back(mapped: pa.Buffer) -> None:
    """Let the kernel take the pages of a mapped file out of this process."""
    advise = _madvise()
    if advise is None or mapped.size == 0:
        return
    first = mapped.address // mmap.PAGESIZE * mmap.PAGESIZE
    # Other pages of the same file may share the first and the last: for them it is as harmless.
    advise(first, mapped.address + mapped.size - first, MADV_DONTNEED)


@cache
def _madvise() -> Any:
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None:
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return advise
