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
# With a page that is touched the kernel maps others around it that are in memory: a window of 64 KB, or a whole large
# folio, which files have that were written in one call. A folio has at most the size of a huge page.
WINDOW_BYTES = 1 << 21


def give_back(mapped: pa.Buffer, file: pa.Buffer) -> None:
    """Let the kernel take the pages of a part of a mapped file out of this process, and those that came with them.

    Other parts may be in use: they are read again when they are touched.
    """
    advise = _madvise()
    if advise is None or mapped.size == 0:
        return
    begin = file.address // mmap.PAGESIZE * mmap.PAGESIZE
    first = max(begin, mapped.address // WINDOW_BYTES * WINDOW_BYTES)
    last = min(file.address + file.size, -(-(mapped.address + mapped.size) // WINDOW_BYTES) * WINDOW_BYTES)
    advise(first, last - first, MADV_DONTNEED)


@cache
def _madvise() -> Any:
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None:
        advise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return advise
