"""Which failures of a job are those of an expression, whatever Spark reports around them."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException

from braid.errors import BraidError, PredicateError, RunFailedError, StorageError
from braid.spark.job_failures import WorkerDied, explain_failure

LOST = (
    "Job aborted due to stage failure: Task 0 in stage 3.0 failed 1 times, most recent failure: Lost task 0.0 in stage "
    "3.0 (TID 7) (host executor driver): "
)
EVALUATED = (
    "org.apache.spark.SparkRuntimeException: Cannot create array with 2147483640 elements of data.\n"
    "\tat org.apache.spark.sql.errors.QueryExecutionErrors$.cannotCreateArray(QueryExecutionErrors.scala:1)\n"
    "\tat org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIterator.processNext(Unknown Source)\n"
)
CLOSED = (
    "\tSuppressed: java.net.SocketException: Socket closed\n"
    "\t\tat java.base/sun.nio.ch.NioSocketImpl.close(NioSocketImpl.java:1)\n"
    "\t\t... 3 more\n"
)
OWN_TRACEBACK = (
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "/site/braid/spark/jobs.py", line 9, in __call__\n'
    "    for batch in batches:\n"
    "pyarrow.lib.ArrowInvalid: Expected to be able to read 8 bytes for message body\n"
    "\n\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)\n"
)
DIED = (
    "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed)\n"
    "\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)\n"
)
READING = (
    "org.apache.spark.SparkException: [FAILED_READ_FILE.NO_HINT] Encountered error while reading file x.\n"
    "\tat org.apache.spark.sql.execution.datasources.FileScanRDD.next(FileScanRDD.scala:1)\n"
)
MISSING = "java.io.FileNotFoundException: x\n\tat org.apache.hadoop.fs.FileSystem.open(FileSystem.java:1)\n"


def explained(text: str) -> BraidError:
    return explain_failure(PySparkException(f"{LOST}{text}\nDriver stacktrace:\n\tat x(y.scala:1)"), ["size(a) = 1"])


@pytest.mark.parametrize(
    "text",
    [
        EVALUATED,
        EVALUATED + CLOSED,
        f"{OWN_TRACEBACK}Caused by: {EVALUATED}",
        f"{OWN_TRACEBACK}{CLOSED}Caused by: {EVALUATED}",
        f"{DIED}Caused by: {EVALUATED}",
        f"java.io.IOException: Broken pipe\n\tat x(y.java:1)\nCaused by: {EVALUATED}",
    ],
    ids=["alone", "with a closed socket", "seen by the reader", "both", "worker died", "broken pipe"],
)
def test_a_failed_expression_is_named_whatever_it_led_to(text: str) -> None:
    error = explained(text)
    assert type(error) is PredicateError
    assert "Cannot create array with 2147483640 elements" in error.detail
    assert "size(a) = 1" in error.detail
    assert "\tat " not in error.detail
    assert "Traceback" not in error.detail


PARSED = (
    "org.apache.spark.SparkException: [MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records.\n"
    "\tat org.apache.spark.sql.catalyst.expressions.JsonToStructs.nullSafeEval(jsonExpressions.scala:1)\n"
    "Caused by: com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input\n"
    "\tat org.apache.spark.sql.catalyst.json.JacksonParser.parse(JacksonParser.scala:1)\n"
)


@pytest.mark.parametrize("text", [PARSED, f"{DIED}Caused by: {PARSED}"], ids=["alone", "worker died"])
def test_a_failed_expression_is_named_by_its_own_message_not_by_its_cause(text: str) -> None:
    error = explained(text)
    assert type(error) is PredicateError
    assert error.detail.startswith("[MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION] Malformed records.")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (OWN_TRACEBACK, RunFailedError),
        (DIED, WorkerDied),
        (READING, RunFailedError),
        (f"{OWN_TRACEBACK}Caused by: java.lang.IllegalStateException: x\n\tat x(y.java:1)\n", RunFailedError),
        (f"{READING}Caused by: {MISSING}", RunFailedError),
        (f"{EVALUATED}Caused by: java.lang.OutOfMemoryError: Java heap space\n", RunFailedError),
        ("braid.errors.StorageError: Could not write x\n", StorageError),
    ],
    ids=["own code", "worker died", "reading", "other cause", "missing file", "memory", "storage"],
)
def test_other_failures_are_not_those_of_an_expression(text: str, kind: type[BraidError]) -> None:
    assert type(explained(text)) is kind
