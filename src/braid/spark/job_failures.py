"""A failed Spark job or query as Braid's error: Spark's own message for the cause, and no stack.

An error that arises while the JVM evaluates a predicate, a selection or a key is a PredicateError, whatever its class:
a regular expression from data or a registered function may raise anything. Errors of storage, of memory, and of dead
workers or executors are not.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.errors import AnalysisException, PySparkException, StreamingQueryException

from braid.errors import BraidError, PredicateError, RunFailedError, StorageError, shortened, text_of, without_stacks
from braid.spark.streaming.log_check import checksum_failure

FULL = "No space left on device"
STORAGE_FAILURES = re.compile(rf"StorageError: (.*)|({FULL})")
WORKER_DEATH = re.compile(r"Python worker exited unexpectedly|Python worker process .* crashed")
# The innermost frame of the Python runner whose worker died: this one evaluates registered functions row by row.
RUNNER = re.compile(r"at org\.apache\.spark\.sql\.execution\.python\.(\w+)")
ROW_FUNCTIONS = "BasePythonUDFRunner"
# Causes outside the rows: memory, lost tasks, files, networks, interrupts, and bugs.
NOT_THE_ROWS = re.compile(
    r"OutOfMemoryError|StackOverflowError|ExecutorLostFailure|FetchFailed|TaskKilled|InterruptedException|"
    r"ClosedByInterrupt|IOException|FileNotFound|FileAlreadyExists|AccessControl|SocketException|ConnectException|"
    r"TimeoutException|NoClassDefFound|ClassNotFound|ClassCastException|ExceptionInInitializer|"
    r"\[(?:INTERNAL_ERROR|FAILED_READ_FILE|CANNOT_READ|CANNOT_LOAD|STREAM|STATE_STORE|TASK_WRITE|UNABLE_TO|PATH_NOT)|"
    r"FileScanRDD|DataSourceRDD|execution\.datasources|org\.apache\.hadoop|org\.apache\.kafka|"
    r"storage\.BlockManager|org\.apache\.spark\.shuffle"
)
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]+)\]([^\n]*)")
TASK_CAUSE = re.compile(r"Lost task [^\n]*?executor [^\s)]*\): ((?:.|\n)*?)(?=\n\s*at |\n\nDriver|\Z)")
EVALUATION = re.compile(
    r"catalyst\.expressions|GeneratedClass|execution\.python\.(?:Arrow|Batch)Eval|org\.apache\.hive"
)
# What fails while something else is being closed; printed one level deeper than the failure itself.
SUPPRESSED = re.compile(r"\n\tSuppressed: [^\n]*(?:\n\t\t[^\n]*)*")
CAUSED_BY = "\nCaused by: "
USER_CODE = "Traceback (most recent call last)"
OWN_CODE = re.compile(r"[/\\]braid[/\\](?:engine|spark|kernels|state)[/\\]")
MOST_NAMED = 6


def explain_failure(error: Exception, evaluated: Sequence[str]) -> BraidError:
    """A failed job as Braid's error; `evaluated` are the expressions that the JVM evaluates in it."""
    # After the task's own stack Spark prints the driver's, which is always that of the streaming query.
    text = _first_failure(text_of(error).split("Driver stacktrace:")[0])
    refused = STORAGE_FAILURES.search(text)
    if refused is not None:
        return StorageError(
            "The storage refused an operation.",
            detail=refused[1] or refused[2],
            hint="Free space on that storage or make it writable, then start the query again: nothing is lost.",
        )
    if evaluated and _is_of_an_expression(error, text):
        which = "\n".join(f"  {sql}" for sql in evaluated[:MOST_NAMED])
        more = f"\n  and {len(evaluated) - MOST_NAMED} more" if len(evaluated) > MOST_NAMED else ""
        whose = "The expression" if len(evaluated) == 1 else "One of the expressions"
        return PredicateError(
            "An expression could not be evaluated.",
            detail=f"{_cause(text)}\n{whose} that Spark evaluates there:\n{which}{more}",
            hint="Guard the expression (for example with try_divide or a condition written before it) and start the "
            "query again: it continues with the same step.",
        )
    if WORKER_DEATH.search(text):
        runner = RUNNER.search(text)
        kind = RegisteredFunctionDied if runner is not None and runner[1] == ROW_FUNCTIONS else WorkerDied
        return kind(
            "A Python worker process died.",
            detail=_cause(text),
            hint="Often the memory of the machine or container was used up (spark.executor.pyspark.memory, memory "
            "overhead). Start the query again: nothing is lost.",
        )
    return RunFailedError(
        "A Spark job ended with an error.",
        detail=shortened(without_stacks(text)),
        hint="The step runs again when the query is started again; nothing is lost.",
    )


def explain_query_failure(error: Exception, checkpoint: str) -> BraidError:
    """What ended Spark's streaming query outside a job of Braid's."""
    damaged = checksum_failure(str(error))
    if damaged is not None:
        return damaged
    detail = shortened(without_stacks(text_of(error)))
    if FULL in str(error):
        return StorageError(
            f"Spark could not write its own part of the checkpoint {checkpoint}: {FULL}",
            detail=detail,
            hint="Free space on that storage, then start the query again: nothing is lost.",
        )
    return RunFailedError(
        "The query ended with an error of Spark's.",
        detail=detail,
        hint="Start it again when the cause is removed: it continues where it stopped.",
    )


class WorkerDied(RunFailedError):
    """A job that failed because Python workers died, for a reason that Spark does not know."""


class RegisteredFunctionDied(WorkerDied):
    """The worker died in which Spark evaluates a function registered with `spark.udf.register`."""


def registered_death(error: RegisteredFunctionDied, evaluated: Sequence[str]) -> PredicateError:
    """The error of a registered function whose worker has died twice."""
    which = "\n".join(f"  {sql}" for sql in evaluated[:MOST_NAMED])
    return PredicateError(
        "A worker process died, twice, while Spark evaluated a registered function.",
        detail=f"Expressions that Spark evaluates there:\n{which}\n{error.detail}",
        hint="Look for os._exit, signals, native code that crashes, or memory beyond the worker's limit in the "
        "function; fix it and start the query again: it continues with the same step.",
    )


def _first_failure(text: str) -> str:
    """The failure itself, without what it led to.

    An expression may fail while its rows are sent to a Python worker. The worker then has a broken input, and which of
    the two is noticed first is a matter of time: the worker's end, a closed socket, or an error of the function that
    reads the rows may be reported, with the failed expression as its cause.
    """
    text = SUPPRESSED.sub("", text)
    failure, *causes = text.split(CAUSED_BY)
    while causes and _may_be_a_consequence(failure):
        failure, *causes = causes
        if EVALUATION.search(failure) and not _may_be_a_consequence(failure):
            return CAUSED_BY.join([failure, *causes])
    return text


def _may_be_a_consequence(failure: str) -> bool:
    """Whether a failed expression may have led to this failure."""
    own = USER_CODE in failure and OWN_CODE.search(failure) is not None
    return own or any(pattern.search(failure) for pattern in (WORKER_DEATH, NOT_THE_ROWS))


def _is_of_an_expression(error: Exception, text: str) -> bool:
    """Whether an expression failed on the rows of the job."""
    if (
        NOT_THE_ROWS.search(text)
        or WORKER_DEATH.search(text)
        or isinstance(error, AnalysisException | StreamingQueryException)
    ):
        return False
    if USER_CODE in text:
        return OWN_CODE.search(text) is None
    # Spark reports an error of its own by its error class, and any other error by its stack.
    return isinstance(error, PySparkException) or CONDITION.search(text) is not None or bool(EVALUATION.search(text))


def _cause(text: str) -> str:
    """Spark's own message for the cause, in a few lines."""
    task = TASK_CAUSE.search(text)
    condition = CONDITION.search(text)
    if condition is not None and USER_CODE not in text:
        return shortened(f"[{condition[1]}]{condition[2]}".strip(), 1000)
    return shortened(without_stacks(task[1] if task is not None else text), 1500)
