"""How messages name a step: by its own number and by the number of the Spark batch that it read.

The two numbers differ after a step without input, so a bare number would be ambiguous.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from braid.errors import PredicateError, RunFailedError, SinkError, StorageError
from braid.plan.join import JoinPlan

# Errors of a step's own work. Others name a file or another run, and are the same in every step.
STEP_ERRORS = (PredicateError, RunFailedError, SinkError, StorageError)


Input = Literal["streaming", "static"]
"""What a step reads: a batch of Spark's streaming query, or static input, which has one step and no batch."""


def name_step(step: int, batch: int | None, read: Input) -> str:
    """A step with the number of its Spark batch; None for a step without input."""
    if batch is None:
        return f"step {step} (without input)"
    return f"step {step} (Spark batch {batch})" if read == "streaming" else f"step {step} (static input)"


@contextmanager
def failing_in(plan: JoinPlan, step: str) -> Iterator[None]:
    """Errors of the step's work say which join failed and in which step."""
    try:
        yield
    except STEP_ERRORS as error:
        names = ", ".join(stream.name for stream in plan.streams)
        message = f"The join of {names} failed in {step}: {error.message}"
        raise type(error)(message, error.detail, error.hint) from error.__cause__
