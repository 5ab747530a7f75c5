"""Worker process settings for many short tasks: cheap garbage collection, retained memory, no broadcast copies."""

from __future__ import annotations

import ctypes
import gc
import sys
from functools import cache

import numpy as np

# Constants of glibc's malloc.h.
M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3
KEPT_BYTES = 1 << 27
MAPPED_BYTES = 1 << 25
# NumPy copies an operand that it broadcasts along rows shorter than a third of its buffer, which takes three times as
# long as computing with it; its own buffer has 8,192 elements.
BUFFERED_ELEMENTS = 512

_frozen_modules = 0


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
    adjust = getattr(ctypes.CDLL(None), "mallopt", None)
    if adjust is not None:
        adjust(M_MMAP_THRESHOLD, MAPPED_BYTES)
        adjust(M_TRIM_THRESHOLD, KEPT_BYTES)
