"""What a worker may hold: its share of the executor's limit, divided between open state and the pieces of its work.

A task takes its allowance when it begins. Segments that are kept open take at most half of it; each piece of work a
sixteenth, since reading, sorting and writing one needs about five times its bytes; the rest is for what lookups
compute of probing rows, and for what the allocator cannot return.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from braid.engine.commands import Command
from braid.engine.locations import Locations
from braid.engine.tasks.worker.memory import remember_idle, resident_now, sibling_workers
from braid.engine.tasks.worker.process import keep_at_most, return_freed_memory
from braid.kernels.sizes import bound_pieces
from braid.placement.units import unit_count
from braid.plan.layout import Layout
from braid.plan.memory import TaskMemory
from braid.state.usage import WorkerMemory

LEAST_PIECE_BYTES, LEAST_ROWS = 64, 1
# Columns of 64 bits that a lookup computes of its probing rows, or of pairs, are about so many bytes a row together.
BYTES_PER_ROW = 64


@dataclass(frozen=True)
class Allowance:
    """The bytes that one worker may hold above idle."""

    size: int

    @property
    def kept(self) -> int:
        """Bytes of open segments and their indexes."""
        return self.size // 2

    @property
    def piece(self) -> int:
        """Bytes of a piece of work: of rows that are read, sorted and written together."""
        return max(LEAST_PIECE_BYTES, self.size // 16)

    @property
    def rows(self) -> int:
        """Rows or pairs that are looked up together."""
        return max(LEAST_ROWS, self.size // 8 // BYTES_PER_ROW)


_current: Allowance | None = None
# By checkpoint: not every command has a layout.
_known_units: dict[str, int] = {}


def current() -> Allowance | None:
    """The allowance of the task that runs in this process; None: no limit."""
    return _current


def allowance_of(memory: TaskMemory, units: int, workers: int) -> Allowance:
    """The share of one of an executor's workers."""
    return Allowance(memory.executor_bytes(units) // workers)


def obey(locations: Locations, command: Command[Any]) -> None:
    """Begin a task under the limit of its run, or without one."""
    global _current
    memory = locations.memory
    if memory is None:
        if _current is not None:
            keep_at_most(None)
        _current = None
        bound_pieces(None, None)
        return
    layout = _layout_of(command)
    if layout is not None:
        _known_units[locations.checkpoint] = unit_count(layout)
    units = _known_units.get(locations.checkpoint, 1)
    workers = 1 if memory.workers == "one" else max(memory.slots_here, sibling_workers())
    found = allowance_of(memory, units, workers)
    if found != _current:
        keep_at_most(found.piece)
    _current = found
    remember_idle()
    bound_pieces(_current.piece, _current.rows)


def after_piece() -> None:
    """After a piece of work: under a limit, return what was freed."""
    if _current is not None:
        return_freed_memory()


def measured() -> WorkerMemory | None:
    """At the end of a task: return what the allocator keeps, and measure; None without a limit."""
    if _current is None:
        return None
    return_freed_memory()
    return resident_now()


def _layout_of(command: Any) -> Layout | None:
    """The newest layout of a command, if it has any."""
    found: Layout | None = getattr(command, "layout", None)
    probes = getattr(command, "probes", ())
    layouts: tuple[Layout, ...] = getattr(probes[0] if probes else command, "layouts", ())
    return layouts[-1] if layouts else found
