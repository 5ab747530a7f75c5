"""A local Spark session for a command: the running interpreter for its workers, no network, little output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from braid.errors import UnsupportedSessionError

LOOPBACK = "127.0.0.1"
SHOWN_LINES = 5


@contextmanager
def local_spark(name: str, log: Path | None) -> Iterator[SparkSession]:
    """A session for the duration of a command. JVM output goes to `log`, or to the terminal without one."""
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    settings = {
        "spark.log.level": "ERROR" if log is not None else "WARN",
        "spark.ui.enabled": "false",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": LOOPBACK,
        "spark.driver.bindAddress": LOOPBACK,
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.streaming.forceDeleteTempCheckpointLocation": "true",
    }
    builder = SparkSession.builder.master("local[*]").appName(name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    try:
        with _errors_to(log):
            spark = builder.getOrCreate()
    except PySparkException as error:
        raise UnsupportedSessionError(
            "Spark did not start.",
            detail=_last_lines(log) or str(error),
            hint="Braid needs Java 17 or 21 on the PATH or in JAVA_HOME: `java -version` tells which one is found.",
        ) from error
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def _errors_to(log: Path | None) -> Iterator[None]:
    """Redirect the stderr of processes started inside to a file; a JVM keeps it for its whole life."""
    if log is None:
        yield
        return
    sys.stderr.flush()
    terminal = os.dup(2)
    with log.open("ab") as file:
        os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(terminal, 2)
        os.close(terminal)


def _last_lines(log: Path | None) -> str:
    if log is None or not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-SHOWN_LINES:])
