"""Notes of running calls of users' functions, as files: if the worker dies in a call, its note stays.

Only a job that is retried because a worker died writes notes; otherwise a call has no extra cost.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from braid.errors import PredicateError
from braid.kernels.blame import values_of
from braid.kernels.checks import CALLS
from braid.kernels.rows import Pairs
from braid.plan.predicate import Conjunct
from braid.state.files import Files

SUFFIX = ".calling"
MOST_NAMED = 6


@contextmanager
def watched(files: Files, checkpoint: str, name: str, is_watched: bool) -> Iterator[None]:
    """Write a note for each call of a user's function, if requested."""
    if not is_watched:
        yield
        return
    path = f"{checkpoint}/staging/{name}{SUFFIX}"

    @contextmanager
    def note(conjunct: Conjunct, pairs: Pairs) -> Iterator[None]:
        first = values_of((column.name for column in conjunct.columns), pairs, 0)
        record = {"predicate": conjunct.written, "pairs": pairs.length, "first": first}
        files.write_new(path, json.dumps(record).encode())
        try:
            yield
        finally:
            files.delete(path)

    token = CALLS.set(note)
    try:
        yield
    finally:
        CALLS.reset(token)


def noted_death(files: Files, checkpoint: str, run: str, step: int) -> PredicateError | None:
    """The error of functions whose calls were running when a worker of this step died; removes their notes."""
    notes = []
    for name in sorted(files.list(f"{checkpoint}/staging")):
        if name.startswith(f"{run[:8]}-{step:012d}-") and name.endswith(SUFFIX):
            path = f"{checkpoint}/staging/{name}"
            notes.append(json.loads(files.read(path)))
            files.delete(path)
    if not notes:
        return None
    calls = [f"  {note['predicate']}: {note['pairs']} pairs, the first with {note['first']}" for note in notes]
    return PredicateError(
        f"A worker process died, twice, while the Python predicate {notes[0]['predicate']} was evaluated.",
        detail="Calls under way on all workers:\n" + "\n".join(calls[:MOST_NAMED]),
        hint="Look for os._exit, signals, native code that crashes, or memory beyond the worker's limit in the "
        "function; fix it and start the query again: it continues with the same step.",
    )
