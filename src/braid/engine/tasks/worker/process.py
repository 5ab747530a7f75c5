"""Worker process settings for many short tasks: cheap garbage collection, retained memory, no broadcast copies."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

import numpy as np
import pyarrow as pa

# Constants of glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 1 << 27
MAPPED_BYTES = 1 << 25
LEAST_MAPPED_BYTES = 1 << 17
# NumPy copies an operand that it broadcasts along rows shorter than a third of its buffer, which takes three times as
# long as computing with it; its own buffer has 8,192 elements.
BUFFERED_ELEMENTS = 512

_frozen_modules = 0
_arrow_pool = pa.default_memory_pool()


def settle() -> None:
    """Called by every task; only the first ones change something."""
    global _frozen_modules
    _keep_freed_memory()
    np.setbufsize(BUFFERED_ELEMENTS)
    if len(sys.modules) != _frozen_modules:
        _freeze_modules()
        _frozen_modules = len(sys.modules)


def _freeze_modules() -> None:
    """Exclude imported modules from the garbage collection that Spark runs after every task.

    The collector would traverse the objects of all modules, for longer than a small task takes.
    """
    gc.collect()
    gc.freeze()


@cache
def _keep_freed_memory() -> None:
    """Let the allocator keep some of the memory that arrays released.

    By default glibc returns arrays of a few hundred kilobytes to the system and allocates them again page by page,
    which takes longer than computing with them.
    """
    _adjust(KEPT_BYTES, MAPPED_BYTES)


def keep_at_most(freed: int | None) -> None:
    """Under a limit, let the allocator keep at most so many bytes that arrays released; None: as without a limit.

    Arrow's own pool keeps pages too, so under a limit its arrays come from the same allocator.
    """
    if freed is None:
        pa.set_memory_pool(_arrow_pool)
        _adjust(KEPT_BYTES, MAPPED_BYTES)
    else:
        pa.set_memory_pool(pa.system_memory_pool())
        _adjust(freed, max(LEAST_MAPPED_BYTES, freed // 8))


def return_freed_memory() -> None:
    """Return what the allocators keep to the system.

    Arrow's pool is used under a limit too: by its Parquet writer and by `group_by`, which take no other.
    """
    _arrow_pool.release_unused()
    trim = getattr(_libc(), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _adjust(kept: int, mapped: int) -> None:
    adjust = getattr(_libc(), "mallopt", None)
    if adjust is not None:
        adjust(M_MMAP_THRESHOLD, mapped)
        adjust(M_TRIM_THRESHOLD, kept)


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None)
