"""The arguments of `writer.trigger`: any duration, exactly one kind of trigger."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from braid.api.triggers import read_trigger
from braid.errors import DurationError, SinkError


@pytest.mark.parametrize(
    ("given", "as_spark_has_it"),
    [
        ("1 s", "1000 milliseconds"),
        ("1 second", "1000 milliseconds"),
        ("1 minute 30 seconds", "90000 milliseconds"),
        ("interval 10 ms", "10 milliseconds"),
        ("0 seconds", "0 milliseconds"),
        ("1 us", "1 milliseconds"),
        (timedelta(seconds=2), "2000 milliseconds"),
    ],
)
def test_a_processing_time_is_any_duration(given: Any, as_spark_has_it: str) -> None:
    assert read_trigger(given, None, None, {}) == (("processingTime", as_spark_has_it),)


def test_triggers() -> None:
    assert read_trigger(None, True, None, {}) == (("once", True),)
    assert read_trigger(None, False, True, {}) == (("availableNow", True),)
    for arguments in ((None, None, None), ("1 s", None, True), (None, True, True), (None, False, False)):
        with pytest.raises(SinkError, match="exactly one"):
            read_trigger(*arguments, {})
    with pytest.raises(SinkError, match="availableNow is true or left out, but got 'yes'"):
        read_trigger(None, None, "yes", {})
    with pytest.raises(SinkError, match="no argument continuous: steps run as micro-batches"):
        read_trigger(None, None, None, {"continuous": "1 second"})
    several: tuple[Any, ...] = ("soon", "", 5, "-1 second")
    for wrong in several:
        with pytest.raises(DurationError):
            read_trigger(wrong, None, None, {})
