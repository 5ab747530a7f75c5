"""Options that would be ignored are refused, with what was probably meant; triggers take any duration."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from braid.api.triggers import read_trigger
from braid.errors import DurationError, SinkError
from braid.spark.sinks.options import OPTIONS, check_options

FORMATS = ("parquet", "memory", "console", "noop", "foreachbatch")


@pytest.mark.parametrize("kind", [*FORMATS, "delta", "kafka"])
def test_general_options_are_known_everywhere_in_any_case(kind: str) -> None:
    for option in OPTIONS:
        if option.general:
            check_options(kind, [option.name, option.name.upper()])


@pytest.mark.parametrize("kind", [*FORMATS, "delta", "csv"])
@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("checkpointlocaton", "checkpointLocation"),
        ("checkpoint_location", "checkpointLocation"),
        ("checkPointDir", None),
        ("retentionn", "retention"),
        ("endOfinputs", "endOfInput"),
        ("sharedpaths", "sharedPath"),
        ("step_column", "stepColumn"),
        ("acceptChangedFunction", "acceptChangedFunctions"),
    ],
)
def test_a_misspelt_option_is_refused_with_the_one_that_was_meant(kind: str, misspelt: str, meant: str | None) -> None:
    if meant is None and kind not in FORMATS:
        check_options(kind, [misspelt])
        return
    with pytest.raises(SinkError) as caught:
        check_options(kind, ["path", misspelt])
    assert repr(misspelt) in str(caught.value)
    assert meant is None or f"Did you mean {meant!r}?" in str(caught.value)


def test_options_of_other_formats_are_refused_by_braids_own() -> None:
    check_options("parquet", ["compression"])
    check_options("console", ["numRows", "TRUNCATE"])
    for kind, name in (("memory", "compression"), ("parquet", "numRows"), ("noop", "mergeSchema")):
        with pytest.raises(SinkError, match="is not one of the format"):
            check_options(kind, [name])


def test_options_of_sparks_formats_pass() -> None:
    for kind, names in {
        "delta": ["mergeSchema", "txnAppId", "userMetadata"],
        "kafka": ["kafka.bootstrap.servers", "topic", "includeHeaders"],
        "jdbc": ["url", "dbtable", "user", "password", "truncate", "numPartitions"],
        "csv": ["header", "sep", "compression", "paths", "timestampFormat"],
    }.items():
        check_options(kind, names)


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
    for wrong in ("soon", "", 5, "-1 second"):
        with pytest.raises(DurationError):
            read_trigger(wrong, None, None, {})  # type: ignore[arg-type]
