"""The function that Spark calls with every batch keeps neither the run nor, in an error, its frames."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from braid.spark.run.batch_function import BatchFailed, without_keeping

ANY: Any = None


class Batches:
    def __init__(self, error: Exception | None = None) -> None:
        self.seen: list[int] = []
        self._error = error

    def take(self, reports: Any, batch: int) -> None:
        self.seen.append(batch)
        if self._error is not None:
            raise self._error


def test_it_calls_the_method_as_long_as_there_is_the_run() -> None:
    batches = Batches()
    call = without_keeping(batches.take)
    call(ANY, 0)
    call(ANY, 1)
    assert batches.seen == [0, 1]
    del batches
    gc.collect()
    with pytest.raises(BatchFailed, match="Stopping"):
        call(ANY, 2)


def test_its_error_has_the_text_of_the_failure_and_nothing_else_of_it() -> None:
    batches = Batches(ValueError("not these"))
    known = weakref.ref(batches)
    call = without_keeping(batches.take)
    with pytest.raises(BatchFailed, match="ValueError: not these") as raised:
        call(ANY, 0)
    error = raised.value
    assert "in take" in str(error)
    del batches, raised
    gc.collect()
    assert known() is None
    assert error.__cause__ is None
    assert error.__context__ is None
