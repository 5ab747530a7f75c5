"""Options that would be ignored are refused, with what was probably meant; triggers take any duration."""

from __future__ import annotations

import pytest

from braid.errors import SinkError
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
